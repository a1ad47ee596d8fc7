"""The findings of an audit as text for people and as JSON for programs."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, TextIO

import msgspec

from gossamer.site.findings import Finding, Severity, counts_of
from gossamer.site.formats.paint import PLAIN, Look
from gossamer.wording import safe_json, shortened, visible

SHOWN_URLS: Final = 20
SHOWN_WHERE: Final = 3
_SHOWN_WORDS: Final = 160
_STYLES: Final[dict[Severity, str]] = {"error": "bad", "warning": "warning", "notice": "quiet"}


def write_text(findings: Sequence[Finding], file: TextIO, look: Look = PLAIN) -> None:
    """Write the findings by rule, of each the first URLs."""
    file.writelines(line + "\n" for line in _lines(findings, look))


def write_json(findings: Sequence[Finding], file: BinaryIO) -> None:
    """Write all findings as one JSON object, one finding a line."""
    file.write(b'{"counts": ' + msgspec.json.encode(counts_of(findings)) + b',\n"findings": [')
    between = b"\n"
    for finding in findings:
        file.write(between + safe_json(msgspec.json.encode(finding)))
        between = b",\n"
    file.write(b"\n]}" if findings else b"]}")


def _lines(findings: Sequence[Finding], look: Look) -> Iterator[str]:
    counts = counts_of(findings)
    totals = ", ".join(_counted(number, severity) for severity, number in counts.items())
    yield look.paint("heading", f"Audit: {totals}")
    for finding in findings:
        yield ""
        yield from _heading(finding, look)
        for url in finding.urls[:SHOWN_URLS]:
            yield from _about(finding, url, look)
        if len(finding.urls) > SHOWN_URLS:
            yield f"    ... and {len(finding.urls) - SHOWN_URLS:,} more"


def _heading(finding: Finding, look: Look) -> Iterator[str]:
    severity = look.paint(_STYLES[finding.severity], finding.severity)
    title = look.paint("heading", f"{finding.title} ({len(finding.urls):,})")
    yield f"{severity}: {title} [{finding.rule}]"
    yield look.paint("quiet", f"  {finding.explanation}")


def _about(finding: Finding, url: str, look: Look) -> Iterator[str]:
    words = shortened(finding.details.get(url, ""), _SHOWN_WORDS)
    yield f"    {visible(url)}" + (f"  ({words})" if words else "")
    where = finding.where.get(url, [])
    for place in where[:SHOWN_WHERE]:
        yield f"        {look.paint('quiet', finding.relation)} {visible(place)}"
    if len(where) > SHOWN_WHERE:
        yield look.paint("quiet", f"        ... and {len(where) - SHOWN_WHERE:,} more")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")
