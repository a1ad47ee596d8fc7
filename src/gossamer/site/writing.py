"""Writes a map in any of its formats, to a stream or to files.

A file appears under its name when it is whole: an interrupted run leaves the earlier one as it was.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Final, Literal

from msgspec import Struct

from gossamer.errors import InputError
from gossamer.site.compare import Comparison
from gossamer.site.findings import Finding
from gossamer.site.model import SiteMap


class Format(Struct, frozen=True):
    """A form in which a map can be written: a module of `formats`, loaded when it is asked for."""

    name: str
    file_name: str
    """Under which it is kept in a folder of several formats."""

    def write(self, site_map: SiteMap, stream: BinaryIO) -> None:
        """Write a map in this form."""
        import_module(f"gossamer.site.formats.{self.name}").write(site_map, stream)


FORMATS: Final[Mapping[str, Format]] = {
    one.name: one
    for one in (
        Format("tree", "site.txt"),
        Format("json", "site.json"),
        Format("jsonl", "site.jsonl"),
        Format("xml", "sitemap.xml"),
        Format("csv", "site.csv"),
        Format("dot", "site.dot"),
        Format("html", "report.html"),
        Format("markdown", "site.md"),
    )
}


_BUFFER_BYTES = 1 << 20


class Extras(Struct, frozen=True):
    """What goes with a map into those formats that have room for it."""

    findings: Sequence[Finding] | None = None
    """None: nobody has looked for any."""
    comparison: Comparison | None = None
    made_at: datetime | None = None


NO_EXTRAS: Final = Extras()


def write_to_stream(
    name: str,
    site_map: SiteMap,
    stream: BinaryIO,
    extras: Extras = NO_EXTRAS,
) -> None:
    """Write one format to a pipe or an open file; for terminals see `formats.tree.write`."""
    if name == "html":
        from gossamer.site.formats import html  # noqa: PLC0415 - few ask for it

        html.write(site_map, stream, extras.findings or (), made_at=extras.made_at)
    elif name == "json":
        from gossamer.site.formats import json  # noqa: PLC0415 - not all ask for it

        json.write(site_map, stream, extras.findings, extras.comparison)
    else:
        _format(name).write(site_map, stream)


def write_to_path(
    name: str,
    site_map: SiteMap,
    path: Path,
    extras: Extras = NO_EXTRAS,
) -> list[Path]:
    """Write one format to a file, or into a folder under its own name; return what was written.

    Only a sitemap of many URLs becomes more than one file; the others are named after the first.
    """
    target = target_of(name, path)
    if name != "xml":
        with _whole(target) as file:
            write_to_stream(name, site_map, file, extras)
        return [target]
    from gossamer.site.formats import xml  # noqa: PLC0415 - few ask for it

    written = []
    for part, content in xml.files(site_map, target.name):
        with _whole(target.with_name(part)) as file:
            file.write(content)
        written.append(target.with_name(part))
    return written


def target_of(name: str, path: Path) -> Path:
    """Return the file that a format goes to: this one, or one in this folder."""
    # Not with Path.is_dir, which fails for a name that is too long for the disk.
    return path / _format(name).file_name if os.path.isdir(path) else path  # noqa: PTH112


def require_writable(path: Path) -> None:
    """Complain if a file could not be written here; a device or a pipe is left alone."""
    if _is_special(path):
        return
    temporary = _temporary(path)
    _opened(temporary, "xb", path).close()
    temporary.unlink()


def _format(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise InputError(f"there is no format {name!r}; there are {', '.join(FORMATS)}") from None


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its name only when the block is left without an error.

    What it takes the place of stays as open or closed to others as it was; a link stays a link.
    """
    if _is_special(path):
        with _opened(path, "wb", path) as file:
            yield file
        return
    temporary = _temporary(path)
    with _opened(temporary, "xb", path) as file:
        try:
            if path.exists():
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(os.path.realpath(path))
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, such as /dev/stdout, that must stay what it is."""
    return os.path.exists(path) and not path.is_file()  # noqa: PTH110 - as in target_of


def _temporary(path: Path) -> Path:
    """Return a name beside the file itself, wherever a link to it is."""
    real = Path(os.path.realpath(path))
    return real.with_name(f".{real.name}.{os.getpid()}.part")


def _opened(path: Path, mode: Literal["wb", "xb"], named: Path) -> BinaryIO:
    try:
        return path.open(mode, buffering=_BUFFER_BYTES)
    except OSError as error:
        raise InputError(f"cannot write {named}: {error.strerror}") from error
