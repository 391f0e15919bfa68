"""Reading and writing of records: JSON and JSON Lines, whole or not at all."""

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
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: not JSON: {error}") from None


def write_records(path: Path, records: Iterable[BaseModel]) -> None:
    """Write one record a line."""
    with atomic_write(path) as file:
        for record in records:
            line = json.dumps(record.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)
            file.write(line + "\n")


def iterate_records(path: Path, record_type: type[Record]) -> Iterator[Record]:
    """Read one record a line, split at LF alone (texts may hold U+2028).

    Raises:
        UserError: The file is missing, or a line is no valid record; names the line.
    """
    number = 0
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            for line in file:
                number += 1
                yield record_type.model_validate_json(line)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise UserError(f"{path}, line {number}: {where}: {first['msg']}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}, after line {number}: not UTF-8: {error}") from None


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
