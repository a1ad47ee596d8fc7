"""JSON lines: each page as the object it is in the JSON, one a line."""

from typing import BinaryIO

from gossamer.site.formats.json import page_line
from gossamer.site.model import SiteMap


def write(site_map: SiteMap, file: BinaryIO) -> None:
    """Write one line for each page."""
    file.writelines(page_line(page) + b"\n" for page in site_map.pages)
