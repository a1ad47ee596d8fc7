"""Writes a map in any of its formats, to a stream or to files.

A file appears under its name when it is whole: an interrupted run leaves the earlier one as it was.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import Struct

from gossamer.errors import InputError
from gossamer.site.model import SiteMap
from gossamer.store.output import whole_file

if TYPE_CHECKING:
    # Loaded by those who audit or compare: 1 ms of each map.
    from gossamer.site.compare import Comparison
    from gossamer.site.findings import Finding


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


class Extras(Struct, frozen=True):
    """What goes with a map into those formats that have room for it."""

    findings: "Sequence[Finding] | None" = None
    """None: nobody has looked for any."""
    comparison: "Comparison | None" = None
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
        with whole_file(target) as file:
            write_to_stream(name, site_map, file, extras)
        return [target]
    from gossamer.site.formats import xml  # noqa: PLC0415 - few ask for it

    written = []
    for part, content in xml.files(site_map, target.name):
        with whole_file(target.with_name(part)) as file:
            file.write(content)
        written.append(target.with_name(part))
    return written


def target_of(name: str, path: Path) -> Path:
    """Return the file that a format goes to: this one, or one in this folder."""
    # Not with Path.is_dir, which fails for a name that is too long for the disk.
    return path / _format(name).file_name if os.path.isdir(path) else path  # noqa: PTH112


def _format(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise InputError(f"there is no format {name!r}; there are {', '.join(FORMATS)}") from None
