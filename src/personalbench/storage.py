"""Reading and writing of records: JSON and JSON Lines, whole or not at all."""

import codecs
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pydantic import BaseModel, ValidationError

from personalbench.errors import UserError

Record = TypeVar("Record", bound=BaseModel)


@contextmanager
def atomic_write(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes its name only when everything is written.

    Lines end in LF and the encoding is UTF-8 on every platform, so that the same
    records give the same bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
        # mkstemp makes private files; give this one the permissions of an ordinary file.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes; the file takes its name only when all are written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.incomplete")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Fill a folder that takes its name only when everything is in it.

    What an earlier try that was killed left beside it is cleared away.

    Args:
        path: The folder.
        replace: Take the place of what is there; else only an empty folder may be.

    Yields:
        The folder to fill.
    """
    path = path.resolve()
    unfinished = path.with_name(f".{path.name}.incomplete")
    empty_folder(unfinished)
    try:
        yield unfinished
        if replace:
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_dir():
            path.rmdir()
        unfinished.rename(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON; NaN and infinity raise ``ValueError``."""
    with atomic_write(path) as file:
        json.dump(value, file, ensure_ascii=False, allow_nan=False, indent=2)
        file.write("\n")


def read_json(path: Path) -> Any:
    """Read one JSON file.

    Raises:
        UserError: The file is missing or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    # Of a wrong encoding, of JSON, of a number with thousands of digits, of deep nesting.
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from None


def write_records(path: Path, records: Iterable[BaseModel]) -> None:
    """Write one record a line."""
    with atomic_write(path) as file:
        file.writelines(map(_record_line, records))


def keep_records(path: Path, records: Iterable[BaseModel]) -> None:
    """Write one record a line into a new file; the same file may be there already.

    Raises:
        UserError: There is another file of that name.
    """
    lines = list(map(_record_line, records))
    if not path.exists():
        with atomic_write(path) as file:
            file.writelines(lines)
    elif path.read_bytes() != "".join(lines).encode():
        raise UserError(f"{path}: is there and holds something else; remove it or name another")


def _record_line(record: BaseModel) -> str:
    return json.dumps(record.model_dump(mode="json"), ensure_ascii=False, allow_nan=False) + "\n"


def iterate_records(path: Path, record_type: type[Record]) -> Iterator[Record]:
    """Read one record a line; see :func:`parse_records`.

    Raises:
        UserError: The file is missing, or a line is no valid record; names the line.
    """
    try:
        with open(path, "rb") as file:
            yield from parse_records(file, str(path), record_type)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None


def parse_records(
    lines: Iterable[bytes], where: str, record_type: type[Record]
) -> Iterator[Record]:
    """Parse one record a line; lines are split at LF alone (texts may hold U+2028).

    Args:
        lines: As a binary file gives them.
        where: What they are of, for messages.
        record_type: What each of them holds.

    Raises:
        UserError: A line is no valid record; names the line.
    """
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            raise UserError(f"{where}, line {number}: an empty line; take it out")
        try:
            yield record_type.model_validate_json(line.decode().rstrip("\n"))
        except UnicodeDecodeError as error:
            raise UserError(
                f"{where}, line {number}: not UTF-8 at byte {error.start} of the line; "
                "save the file as UTF-8"
            ) from None
        except ValidationError as error:
            raise UserError(f"{where}, line {number}: {_fault(error)}") from None


def _fault(error: ValidationError) -> str:
    """The first thing that is wrong with a line."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        said = first["ctx"]["error"].replace(" at line 1 column ", " at character ")
        return f"not JSON: {said}; write one JSON object a line"
    what = ".".join(map(str, first["loc"]))
    return f"{what}: {first['msg']}" if what else first["msg"]


def read_records(path: Path, record_type: type[Record]) -> list[Record]:
    """Read all records of a file; see :func:`iterate_records`."""
    return list(iterate_records(path, record_type))


def sha256_bytes(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def empty_folder(folder: Path) -> None:
    """Make sure that a folder of our own making exists and holds nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
