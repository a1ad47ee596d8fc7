"""A comparison as text for people and as JSON for programs."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, TextIO

import msgspec

from gossamer.site.compare import Comparison, Entry, StatusChange
from gossamer.site.formats.paint import PLAIN, Look
from gossamer.wording import safe_json, shortened, visible

SHOWN: Final = 20
"""Lines of each section; JSON has them all."""
_SHOWN_TITLE: Final = 80


def write_text(comparison: Comparison, file: TextIO, look: Look = PLAIN) -> None:
    """Write what changed, section by section, of each the first lines."""
    file.writelines(line + "\n" for line in _lines(comparison, look))


def write_json(comparison: Comparison, file: BinaryIO) -> None:
    """Write all that changed as one JSON object."""
    encoded = msgspec.json.format(msgspec.json.encode(comparison), indent=2)
    file.write(safe_json(encoded))


def _lines(comparison: Comparison, look: Look) -> Iterator[str]:
    earlier = shortened(comparison.before, 200)
    yield look.paint("heading", f"Compared with the earlier map of {earlier}")
    for note in comparison.notes:
        yield look.paint("warning", f"  Note: {visible(note)}")
    sections = [(title, lines) for title, lines in _sections(comparison, look) if lines]
    if not sections:
        yield "  Nothing changed."
    for title, lines in sections:
        yield ""
        yield look.paint("heading", f"{title} ({len(lines):,})")
        yield from (f"    {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"    ... and {len(lines) - SHOWN:,} more"


def _sections(comparison: Comparison, look: Look) -> Iterator[tuple[str, Sequence[str]]]:
    to = look.leads_to
    yield "Added", [_entry(entry) for entry in comparison.added]
    yield "Removed", [_entry(entry) for entry in comparison.removed]
    yield (
        "Moved",
        [
            f"{visible(move.url)} {to} {visible(move.to)}"
            + (" (same content)" if move.by == "content" else "")
            for move in comparison.moved
        ],
    )
    yield "Changed status", [_status(change, to) for change in comparison.changed_status]
    yield "Changed content", [visible(url) for url in comparison.changed_content]
    yield (
        "Changed title",
        [
            f"{visible(change.url)}: {_quoted(change.before)} {to} {_quoted(change.after)}"
            for change in comparison.changed_title
        ],
    )
    yield "Assets added", _assets(comparison.assets_added)
    yield "Assets removed", _assets(comparison.assets_removed)


def _entry(entry: Entry) -> str:
    trouble = entry.error or ("" if entry.status == 200 else str(entry.status))
    return visible(entry.url) + (f"  ({shortened(trouble, _SHOWN_TITLE)})" if trouble else "")


def _status(change: StatusChange, to: str) -> str:
    words = f"  ({shortened(change.error, _SHOWN_TITLE)})" if change.error else ""
    before, after = change.before or "no answer", change.after or "no answer"
    return f"{visible(change.url)}: {before} {to} {after}{words}"


def _quoted(title: str) -> str:
    return f"“{shortened(title, _SHOWN_TITLE)}”"


def _assets(by_kind: dict[str, list[str]]) -> list[str]:
    return [f"{visible(kind)} {visible(url)}" for kind, urls in by_kind.items() for url in urls]
