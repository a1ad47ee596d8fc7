"""The forms in which news is written: each has an encoder that hostile text cannot break."""

import csv
import io
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from email.utils import format_datetime
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

import msgspec
from msgspec import Struct

from gossamer.cli.export import open_output
from gossamer.cli.formats import csv_cell
from gossamer.cli.news_records import Place, StoryRecord
from gossamer.cli.terminal import Section, print_sections
from gossamer.wording import safe_json, safe_xml, visible

_BETWEEN = "; "
# What XML 1.0 cannot hold, not even as a reference (section 2.2).
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTES = {'"': "&quot;", "'": "&apos;"}


def open_form(arguments: Namespace) -> AbstractContextManager[BinaryIO]:
    """Give what --format writes to: a table for people goes to the terminal as text."""
    if arguments.format == "table" and arguments.output is None:
        return nullcontext(sys.stdout.buffer)
    return open_output(arguments.output)


def write_jsonl(records: Iterable[Struct], out: BinaryIO) -> None:
    """Write one JSON object a line."""
    encoder = msgspec.json.Encoder()
    out.writelines(safe_json(encoder.encode(record)) + b"\n" for record in records)


def print_json_list(fields: dict[str, Any], name: str, items: Iterable[object]) -> None:
    """Print a JSON object whose last field is a list, one item after the other."""
    sys.stdout.flush()
    out = sys.stdout.buffer
    out.write(b"{\n")
    out.writelines(b'  "%s": %s,\n' % (key.encode(), _json(value)) for key, value in fields.items())
    out.write(b'  "%s": [' % name.encode())
    separator = b"\n"
    for item in items:
        out.write(separator + b"    " + _json(item))
        separator = b",\n"
    out.write(b"\n  ]\n}\n")
    out.flush()


def write_csv(kind: type[Struct], records: Iterable[Struct], out: BinaryIO) -> None:
    """Write a header and one row for each record (RFC 4180, UTF-8)."""
    with text_on(out) as text:
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(kind.__struct_fields__)
        for record in records:
            fields = zip(kind.__struct_fields__, msgspec.structs.astuple(record), strict=True)
            writer.writerow(_cell(name, value) for name, value in fields)


def write_table(section: Section, out: BinaryIO) -> None:
    """Print a table for people, or write it to a file."""
    if out is sys.stdout.buffer:
        print_sections([section])
    else:
        with text_on(out) as text:
            print_sections([section], text)


def write_rss(
    stories: Iterable[StoryRecord], out: BinaryIO, *, title: str, with_text: bool
) -> None:
    """Write the stories as a feed (RSS 2.0) that other readers can follow."""
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/">\n<channel>\n'
        # A channel must have a link, but what was collected is not on the web.
        f"{_element('title', title)}\n<link>about:blank</link>\n"
        "<description>Stories collected by gossamer, the latest first</description>\n"
    )
    out.write(safe_xml(head.encode()))
    out.writelines(safe_xml(_rss_item(story, with_text=with_text).encode()) for story in stories)
    out.write(b"</channel>\n</rss>\n")


def _xml(text: str) -> str:
    """Return text as it may stand in XML, in an attribute, too."""
    return escape(_NO_XML.sub("\ufffd", text), _QUOTES)


def _json(value: object) -> bytes:
    """Write a value as JSON, its inner lines indented as deep as items of a list stand."""
    encoded = msgspec.json.format(msgspec.json.encode(value), indent=2)
    return safe_json(encoded).replace(b"\n", b"\n    ")


def _rss_item(story: StoryRecord, *, with_text: bool) -> str:
    parts = [
        _element("title", story.title),
        _element("link", story.canonical_url or story.url),
        f'<guid isPermaLink="false">{_xml(story.guid)}</guid>',
        _element("pubDate", _rfc_822(story.published or story.collected)),
        _element("description", story.description),
        *(_element("dc:creator", author) for author in story.authors),
        _element("dc:language", story.language),
        *(_element("category", tag) for tag in story.tags),
    ]
    if story.feeds:
        parts.append(f'<source url="{_xml(story.feeds[0])}">{_xml(story.source)}</source>')
    if with_text and story.text:
        # The element holds HTML, so the text is escaped for that first.
        paragraphs = (f"<p>{escape(line)}</p>" for line in story.text.splitlines() if line.strip())
        parts.append(_element("content:encoded", "\n".join(paragraphs)))
    return "<item>\n" + "".join(f"{part}\n" for part in parts if part) + "</item>\n"


def _element(name: str, text: str | None) -> str:
    return f"<{name}>{_xml(text)}</{name}>" if text else ""


def _rfc_822(iso: str) -> str:
    return format_datetime(datetime.fromisoformat(iso))


def _cell(name: str, value: Any) -> Any:
    match value:
        case tuple():
            return csv_cell(_BETWEEN.join(value))
        case Place():
            return csv_cell(f"{value.file} {value.offset} {value.length}")
        case str() if name == "text":
            # Its lines are worth keeping, and a cell may hold them; a formula begins the cell.
            first, *rest = value.strip().replace("\r\n", "\n").split("\n")
            return "\n".join([csv_cell(first), *map(visible, rest)])
    return csv_cell(value)


@contextmanager
def text_on(out: BinaryIO) -> Iterator[io.TextIOWrapper]:
    """Give a text stream over a binary one that stays open afterwards."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()
