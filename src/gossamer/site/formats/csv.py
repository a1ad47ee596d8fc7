"""CSV for spreadsheets: one row a page, and no cell that a spreadsheet would run."""

import csv
import io
import re
from typing import BinaryIO, Final

from gossamer.site.model import ASSET_KINDS, Page, SiteMap
from gossamer.wording import readable

COLUMNS: Final = (
    "url",
    "parent",
    "depth",
    "status",
    "content_type",
    "title",
    "bytes",
    "milliseconds",
    "error",
    "alias_of",
    "aliases",
    "links",
    "linked_from",
    "checksum",
    *ASSET_KINDS,
)

# Spreadsheets take a cell for a formula that begins so, some after blanks, some in full width.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")  # noqa: RUF001


def write(site_map: SiteMap, file: BinaryIO) -> None:
    """Write a header and a row for each page (RFC 4180, UTF-8)."""
    file.write(_line(list(COLUMNS)))
    file.writelines(_line(_cells(page)) for page in site_map.pages)


def cell(text: str) -> str:
    """Return a text that stays on its line and that no spreadsheet runs as a formula."""
    neutral = f"'{text}" if _FORMULA.match(text) else text
    return readable(neutral)


def _cells(page: Page) -> list[str | int]:
    return [
        cell(page.url),
        cell(page.parent or ""),
        page.depth,
        page.status,
        cell(page.content_type),
        cell(page.title),
        page.bytes,
        page.milliseconds,
        cell(page.error or ""),
        cell(page.alias_of or ""),
        cell(" ".join(page.aliases)),
        len(page.links),
        page.facts.linked_count,
        page.checksum,
        # A URL holds no blank, so blanks can stand between URLs.
        *(cell(" ".join(page.assets.get(kind, ()))) for kind in ASSET_KINDS),
    ]


def _line(cells: list[str | int]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().encode()
