"""The data of the report, as JSON: pages and assets as rows, URLs of pages as row numbers.

A site of 50,000 pages names the same URLs millions of times; numbers keep the report at a size that
a browser opens in a moment.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import BinaryIO, Final

import msgspec

from gossamer.site.findings import Finding
from gossamer.site.model import Page, SiteMap, is_error, summary_of
from gossamer.site.tree import Tree, origin_of_site

PAGE_FIELDS: Final = (
    "url",
    "parent",
    "depth",
    "status",
    "type",
    "alias_of",
    "redirect_to",
    "title",
    "bytes",
    "milliseconds",
    "error",
    "links",
    "linked",
    "linked_from",
    "assets",
    "noindex",
    "checksum",
)
ASSET_FIELDS: Final = ("url", "kind", "pages", "used_by", "status", "bytes", "type", "error")

_TITLE = 300
_DATA_URL = 200
# Of a page that works a few places will do; of one that does not, each is work to be done.
_LINKED_FROM = 10
_USED_BY = 50
_WHERE = 100
_ENCODER = msgspec.json.Encoder()


def write_data(
    site_map: SiteMap, findings: Sequence[Finding], file: BinaryIO, made_at: datetime | None = None
) -> None:
    """Write all that the report shows."""
    numbers = {page.url: number for number, page in enumerate(site_map.pages)}
    tops = {page.url for page in Tree(site_map).others}
    assets = _Assets(site_map)
    head = {
        "site": site_map.site,
        "origin": origin_of_site(site_map),
        "made_at": made_at.astimezone(UTC).isoformat(timespec="minutes") if made_at else "",
        "summary": summary_of(site_map),
        "checked": bool(site_map.checked),
        "page_fields": PAGE_FIELDS,
        "asset_fields": ASSET_FIELDS,
        "findings": [_finding(finding, numbers) for finding in findings],
    }
    file.write(_encoded(head)[:-1])
    file.write(b',"pages":[')
    rows = (_page(page, numbers, assets) for page in site_map.pages)
    _write_rows((_without_parent(row) if row[0] in tops else row for row in rows), file)
    file.write(b'],"assets":[')
    _write_rows(assets.rows(), file)
    file.write(b"]}")


class _Assets:
    """The distinct assets, in the order in which they are met; an asset of two kinds is two."""

    def __init__(self, site_map: SiteMap) -> None:
        self._checked = site_map.checked
        self._numbers: dict[tuple[str, str], int] = {}
        self._counts: list[int] = []
        self._used_by: list[list[int]] = []

    def of(self, page: Page, number: int) -> list[int]:
        """Return the numbers of the assets of a page, and remember who uses them."""
        found = []
        for kind, urls in page.assets.items():
            for url in urls:
                asset = self._numbers.setdefault((kind, url), len(self._numbers))
                if asset == len(self._counts):
                    self._counts.append(0)
                    self._used_by.append([])
                self._counts[asset] += 1
                if len(self._used_by[asset]) < _USED_BY:
                    self._used_by[asset].append(number)
                found.append(asset)
        return found

    def rows(self) -> Iterator[list[object]]:
        """Yield what is known of each."""
        for (kind, url), asset in self._numbers.items():
            check = self._checked.get(url)
            shown = url[:_DATA_URL] if url.startswith("data:") else url
            known = (check.status, check.bytes, check.content_type, check.error) if check else ()
            yield [shown, kind, self._counts[asset], self._used_by[asset], *known]


def _page(page: Page, numbers: dict[str, int], assets: _Assets) -> list[object]:
    facts = page.facts
    most = None if is_error(page) else _LINKED_FROM
    return [
        page.url,
        numbers.get(page.parent or ""),
        page.depth,
        page.status,
        page.content_type.partition(";")[0].strip().lower()[:_TITLE],
        _named(page.alias_of, numbers),
        _named(facts.redirect_to, numbers),
        page.title[:_TITLE],
        page.bytes,
        page.milliseconds,
        page.error[:_TITLE] if page.error is not None else None,
        len(page.links),
        max(facts.linked_count, len(facts.linked_from)),
        _all_named(facts.linked_from[:most], numbers),
        assets.of(page, numbers[page.url]),
        int(facts.noindex),
        page.checksum[:16],
    ]


def _finding(finding: Finding, numbers: dict[str, int]) -> dict[str, object]:
    return {
        "severity": finding.severity,
        "rule": finding.rule,
        "title": finding.title,
        "explanation": finding.explanation,
        "relation": finding.relation,
        "urls": [
            [
                numbers.get(url, url),
                finding.details.get(url, "")[:_TITLE],
                _all_named(finding.where.get(url, [])[:_WHERE], numbers),
            ]
            for url in finding.urls
        ],
    }


def _named(url: str | None, numbers: dict[str, int]) -> int | str | None:
    return None if url is None else numbers.get(url, url)


def _all_named(urls: Iterable[str], numbers: dict[str, int]) -> list[int | str]:
    return [numbers.get(url, url) for url in urls]


def _without_parent(row: list[object]) -> list[object]:
    """Return the row of a page at the top of a tree, whatever it names as its parent."""
    row[PAGE_FIELDS.index("parent")] = None
    return row


def _write_rows(rows: Iterable[list[object]], file: BinaryIO) -> None:
    between = b"\n"
    for row in rows:
        file.write(between + _encoded(row))
        between = b",\n"


def _encoded(value: object) -> bytes:
    """Return JSON that cannot end the element it stands in: `<` occurs in strings only."""
    return _ENCODER.encode(value).replace(b"<", b"\\u003c")
