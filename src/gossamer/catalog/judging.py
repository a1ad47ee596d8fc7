"""What visits and discoveries mean, whatever keeps them: rules that all backends share. Pure."""

from typing import Final

from msgspec.structs import replace

from gossamer.messages import Findings, Found, Kind
from gossamer.outcomes import FOREVER, PAGE_OUTCOMES, RULES, Outcome, State

# Plain numbers: to look a member up and to compare with it costs several times as much.
_PENDING: Final = int(State.PENDING)
_EXCLUDED: Final = int(State.EXCLUDED)
_OK: Final = int(Outcome.OK)
NOT_MODIFIED: Final = int(Outcome.NOT_MODIFIED)
_PAGES: Final = frozenset(int(outcome) for outcome in PAGE_OUTCOMES)
SUCCESSORS: Final = _PAGES - {NOT_MODIFIED} | {int(Outcome.HTTP_4XX)}
"""By these a server says what there is now in the place of an earlier document."""
NO_TRY: Final = frozenset(int(outcome) for outcome, rule in RULES.items() if rule.tries == FOREVER)
"""Waiting for robots.txt or for disk space says nothing about the URL: no try is counted."""
OF_A_COPY: Final = "only copies of other pages lead to it"
"""Why a URL is kept out, unless `[catalog] follow_duplicates`."""
ON_PROBATION: Final = -1
"""The priority of URLs on probation: they wait until there is nothing else to do at their host."""
MOST_ON_PROBATION: Final = 8
"""So many of them are leased together: what they bring may spare us the rest."""
MAX_DOC_ID: Final = (1 << 32) - 1
MOST_IN_TURN: Final = {int(Kind.SITEMAP): 5, int(Kind.ASSET): 10}
"""How many may lead to one another in turn. By the protocol a sitemap index lists no other index;
what does, or a style sheet that needs another, may do so without an end, and is no page to count.
"""
_SIGN: Final = 1 << 63
_WORD: Final = 1 << 64


def has_content(findings: Findings) -> bool:
    """Whether a visit brought a body that others may have, too."""
    return (
        findings.checksum is not None
        and findings.body_bytes > 0
        and findings.outcome == _OK
        and 200 <= findings.status < 300
    )


def is_changed(
    findings: Findings,
    outcome: int | None,
    before: tuple[bytes | None, str | None] | None,
) -> bool:
    """Tell whether a visit found something else than the one before it, which had this outcome.

    `before`: the checksum of the latest document, and where it redirected to.
    """
    if findings.outcome == NOT_MODIFIED:
        return False
    if before is None or findings.outcome not in _PAGES:
        return findings.outcome != outcome
    checksum, redirect_to = before
    if findings.checksum is not None or checksum is not None:
        return findings.checksum != checksum
    return findings.redirect_to != redirect_to


def signed(simhash: int | None) -> int | None:
    """Return a fingerprint as a number with a sign, of which databases have 64 bits."""
    return simhash if simhash is None or simhash < _SIGN else simhash - _WORD


def kept_out(found: Found) -> Found:
    """Return a URL that a copy of another page leads to."""
    if found.state != _PENDING:
        return found
    return replace(found, state=_EXCLUDED, outcome=int(Outcome.POLICY_TRAP), detail=OF_A_COPY)


def too_deep(item: Found) -> Found:
    """Return a URL to which too many of its kind lead in turn."""
    kind = Kind(item.kind).name.lower()
    return replace(
        item,
        state=_EXCLUDED,
        outcome=int(Outcome.POLICY_TRAP),
        detail=f"more than {MOST_IN_TURN[item.kind]} {kind}s lead to one another in turn",
    )


def is_doubtful(found: Found) -> bool:
    """Whether another way to a URL may be a better one."""
    return found.state == _EXCLUDED or bool(found.probation)
