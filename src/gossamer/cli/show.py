"""`gossamer show`: what is known of one URL: its state, its history, its stored bytes."""

import sys
from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, add_command, add_directory, add_json
from gossamer.cli.terminal import (
    Section,
    complain,
    is_terminal,
    print_json,
    print_sections,
    visible_lines,
)
from gossamer.errors import InputError, StoreError
from gossamer.wording import bytes_in_words

if TYPE_CHECKING:
    from gossamer.catalog.catalog import FetchRow, UrlRow
    from gossamer.catalog.sqlite import SqliteCatalog
    from gossamer.store.store import StoredDocument

_MAX_DECODED_BYTES = 1 << 32
_MAX_RATIO = 1_000_000


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "show",
        run,
        summary="show what is known of one URL, its history and its stored bytes",
        examples="""
        gossamer show --dir example https://example.org/
        gossamer show --dir example https://example.org/ --headers
        gossamer show --dir example https://example.org/logo.png --body > logo.png
        gossamer show --dir example https://example.org/ --json
        """,
    )
    parser.add_argument("url", metavar="URL", help="the URL, as a page would link to it")
    add_directory(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--body", action="store_true", help="only the stored body, decoded")
    form.add_argument("--headers", action="store_true", help="only the request and response heads")
    add_json(form, "all of it")


def run(arguments: Namespace) -> int:
    """Show the URL in the form asked for."""
    from gossamer.cli.reading import open_workspace

    with open_workspace(arguments.dir) as catalog:
        # Row and history as of one moment, for a crawl may go on meanwhile.
        catalog.renew_view()
        row = _find(catalog, arguments.url, arguments)
        history = catalog.history(row.doc_id)
    if arguments.body:
        _print_body(_stored(arguments, row, history))
    elif arguments.headers:
        _print_heads(_stored(arguments, row, history))
    elif arguments.json:
        _print_json(row, history)
    else:
        print_sections([_properties(row), _history(history)])
    return 0


def _find(catalog: "SqliteCatalog", typed: str, arguments: Namespace) -> "UrlRow":
    from gossamer.url.canonical import parse_start_url

    # What was typed may be the exact form that a crawl with other URL settings has stored.
    row = catalog.find(typed) or catalog.find(parse_start_url(typed))
    if row is None:
        raise InputError(
            f"{typed} is not known in {arguments.dir}; "
            f"list what is: gossamer export --dir {quote(str(arguments.dir))}"
        )
    return row


def _properties(row: "UrlRow") -> Section:
    from gossamer.cli.formats import record_of

    record = record_of(row)
    known = [(name, getattr(record, name)) for name in record.__struct_fields__]
    extra = [
        ("found at", _moment(row.found_at)),
        ("next fetch", _moment(row.next_fetch_at)),
        ("visits", row.visits),
        ("changes seen", row.changes),
        ("redirected from", " -> ".join(row.via) or None),
    ]
    rows = [
        (name.replace("_", " "), str(value)) for name, value in known + extra if value is not None
    ]
    return Section("", ("", ""), rows)


def _history(history: "list[FetchRow]") -> Section:
    from gossamer.outcomes import name_of

    rows = [
        (
            _moment(fetch.fetched_at),
            name_of(fetch.outcome),
            fetch.status or None,
            f"{fetch.milliseconds} ms",
            bytes_in_words(fetch.body_bytes),
            fetch.checksum.hex() if fetch.checksum else None,
            fetch.detail or None,
        )
        for fetch in history
    ]
    header = ("fetched at", "outcome", "status", "took", "size", "checksum", "detail")
    return Section("History, the latest first" if rows else "Never fetched", header, rows)


def _print_json(row: "UrlRow", history: "list[FetchRow]") -> None:
    import msgspec

    from gossamer.cli.formats import iso_time, record_of
    from gossamer.outcomes import name_of

    print_json(
        msgspec.structs.asdict(record_of(row))
        | {
            "found_at": iso_time(row.found_at),
            "next_fetch_at": iso_time(row.next_fetch_at) if row.next_fetch_at else None,
            "visits": row.visits,
            "changes": row.changes,
            "via": row.via,
            "history": [
                {
                    "fetched_at": iso_time(fetch.fetched_at),
                    "outcome": name_of(fetch.outcome),
                    "status": fetch.status or None,
                    "milliseconds": fetch.milliseconds,
                    "content_type": fetch.content_type or None,
                    "bytes": fetch.body_bytes,
                    "wire_bytes": fetch.wire_bytes,
                    "checksum": fetch.checksum.hex() if fetch.checksum else None,
                    "etag": fetch.etag,
                    "last_modified": fetch.last_modified,
                    "redirect_to": fetch.redirect_to,
                    "detail": fetch.detail or None,
                }
                for fetch in history
            ],
        }
    )


def _stored(arguments: Namespace, row: "UrlRow", history: "list[FetchRow]") -> "StoredDocument":
    """Read the latest fetch that brought bytes."""
    from gossamer.crawl.workspace import Workspace
    from gossamer.store.reading import read_document

    for fetch in history:
        if fetch.pointer is not None:
            try:
                return read_document(Workspace(arguments.dir).archive, fetch.pointer)
            except StoreError as error:
                raise StoreError(
                    f"cannot show the stored bytes of {row.url}: {error}; "
                    "restore the file from a copy"
                ) from error
    where = quote(str(arguments.dir))
    raise InputError(
        f"no bytes are stored for {row.url}; see: gossamer show --dir {where} {quote(row.url)}"
    )


def _print_heads(document: "StoredDocument") -> None:
    if not document.head:
        raise InputError(
            f"no HTTP head of {document.url} is stored: the Spider that fetched it sent only the "
            "document; see it with --body"
        )
    heads = b"\r\n".join(head for head in (document.request_head, document.head) if head)
    _write(heads.replace(b"\r\n", b"\n"), "iso-8859-1")


def _print_body(document: "StoredDocument") -> None:
    if document.raw is None:
        raise StoreError(f"the body of {document.url} repeats one that is not in this archive")
    _write(_decoded(document.head, document.raw), "utf-8")


def _decoded(head: bytes, raw: bytes) -> bytes:
    """Undo the content coding; what cannot be undone is given as it is stored."""
    from gossamer.spider.decode import Decoder

    codings = tuple(
        coding.strip()
        for line in head.decode("iso-8859-1").lower().split("\r\n")
        if line.startswith("content-encoding:")
        for coding in line.partition(":")[2].split(",")
        if coding.strip() not in {"", "identity"}
    )
    if not codings:
        return raw
    decoder = Decoder(codings, _MAX_DECODED_BYTES, _MAX_RATIO)
    decoder.feed(raw)
    decoded = decoder.finish(raw)
    if decoded.fault is not None:
        complain(f"the body is damaged: {decoded.detail}")
    return decoded.body or raw


def _write(data: bytes, charset: str) -> None:
    """Write bytes as they are to a file or a pipe, but nothing that steers to a terminal."""
    if is_terminal(sys.stdout):
        print(visible_lines(data.decode(charset, "replace")))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _moment(moment: float | None) -> str | None:
    from gossamer.cli.formats import iso_time

    return iso_time(moment) if moment else None
