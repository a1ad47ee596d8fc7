"""JSON lines: each page as the object it is in the JSON, one a line."""

from typing import BinaryIO

from gossamer.site.formats.json import page_lines
from gossamer.site.model import SiteMap


def write(site_map: SiteMap, file: BinaryIO) -> None:
    """Write one line for each page."""
    file.writelines(lines + b"\n" for lines in page_lines(site_map.pages, b"\n"))
