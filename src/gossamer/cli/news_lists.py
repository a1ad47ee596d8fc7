"""The forms of a list of feeds; `news import` reads each of them again."""

import csv
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from gossamer.catalog.subscriptions import FeedRow, SourceRow
from gossamer.cli.formats import csv_cell
from gossamer.cli.news_writing import text_on
from gossamer.parse.opml import Subscription, write_opml
from gossamer.wording import safe_xml

Entries = Iterable[tuple[SourceRow, Iterator[FeedRow]]]


def write_list(form: str, entries: Entries, out: BinaryIO) -> None:
    """Write the feeds of all sources in this form."""
    {"opml": _opml, "csv": _csv, "text": _text}[form](entries, out)


def _text(entries: Entries, out: BinaryIO) -> None:
    # URLs are canonical: they hold neither blanks nor control characters.
    for _, feeds in entries:
        out.writelines(f"{feed.url}\n".encode() for feed in feeds)


def _csv(entries: Entries, out: BinaryIO) -> None:
    with text_on(out) as text:
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(("url", "source", "title", "home"))
        for source, feeds in entries:
            for feed in feeds:
                cells = (feed.url, source.name, feed.title, source.home)
                writer.writerow([csv_cell(cell) for cell in cells])


def _opml(entries: Entries, out: BinaryIO) -> None:
    """Write OPML: a source is a folder with its feeds."""
    subscriptions = (
        Subscription(feed.title or feed.url, feed.url, source.home, source.name.replace("/", "-"))
        for source, feeds in entries
        for feed in feeds
    )
    out.write(safe_xml(write_opml(subscriptions, "Feeds followed by gossamer")))
