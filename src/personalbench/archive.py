"""A few files of known names, in a folder or in a zip, read as if a stranger had made them.

Nothing is ever unpacked: only the files that are asked for are read, into memory, and no
more of them than a bound. So there is no path that could leave the folder.
"""

import lzma
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from personalbench.errors import UserError

MOST_BYTES = 256 << 20
"""Most bytes of one file, unpacked."""

_MAKE = "a bundle is what `personalbench prepare` wrote"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold


def read_files(path: Path, names: Sequence[str], *, links: bool = False) -> dict[str, bytes]:
    """Read the named files of a folder, or of a zip that holds them.

    Args:
        path: The folder or the zip; the files may lie in one folder inside the zip, as
            they do when a folder was zipped.
        names: Plain file names.
        links: Follow links; only for folders that this project wrote itself.

    Raises:
        UserError: There is no such folder or zip, a file is missing, too large or a link,
            or the zip is damaged, encrypted or holds a path out of it.
    """
    if path.is_dir():
        if not (path / names[0]).exists():
            raise UserError(f"{path}: no bundle, for {names[0]} is missing; {_MAKE}")
        return {name: _read_file(path / name, links) for name in names}
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; {_MAKE}")
    with _open_zip(path) as archive:
        entries = _entries(path, archive, names[0])
        return {name: _read_entry(path, archive, entries, name) for name in names}


def write_zip(path: Path, folder: Path, names: Sequence[str]) -> None:
    """Write a folder's files into a zip; the same files give the same bytes everywhere.

    They are stored as they are: what a compressor makes of them depends on its release.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # else the platform's
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, (folder / name).read_bytes())


def _read_file(path: Path, links: bool) -> bytes:
    if path.is_symlink() and not links:
        raise UserError(f"{path}: a link; put the file itself in its place")
    if not path.is_file():
        raise UserError(f"{path}: missing; restore the bundle or make it anew")
    if path.stat().st_size > MOST_BYTES:
        raise UserError(f"{path}: more than {MOST_BYTES >> 20} MiB; not a bundle's file")
    return path.read_bytes()


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        EOFError,
        OSError,
    ) as error:
        raise UserError(
            f"{path}: no bundle, which is a folder or a zip that can be read: {error}"
        ) from None


def _entries(path: Path, archive: zipfile.ZipFile, first: str) -> dict[str, zipfile.ZipInfo]:
    """The files of the one folder of the zip that holds the first of the names."""
    for entry in archive.infolist():
        parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
        if ".." in parts or entry.filename.startswith(("/", "\\")) or ":" in entry.filename:
            raise UserError(f"{path}: {entry.filename!r} leads out of the zip; don't trust it")
    homes = {
        PurePosixPath(entry.filename).parent
        for entry in archive.infolist()
        if PurePosixPath(entry.filename).name == first
    }
    if len(homes) != 1:
        raise UserError(f"{path}: holds {len(homes) or 'no'} {first}; a bundle has one")
    home = homes.pop()
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        inside = PurePosixPath(entry.filename)
        if inside.parent != home or entry.is_dir():
            continue
        if inside.name in entries:
            raise UserError(f"{path}: {entry.filename} stands twice; don't trust it")
        entries[inside.name] = entry
    return entries


def _read_entry(
    path: Path, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], name: str
) -> bytes:
    where = f"{path}, {name}"
    entry = entries.get(name)
    if entry is None:
        raise UserError(f"{where}: missing; restore the bundle or make it anew")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise UserError(f"{where}: a link; put the file itself in its place")
    if entry.flag_bits & 1:
        raise UserError(f"{where}: encrypted; unpack it and zip it without a password")
    # What an entry says of its own size need not be true.
    with archive.open(entry) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UserError(f"{where}: more than {MOST_BYTES >> 20} MiB; not a bundle's file")
    return data
