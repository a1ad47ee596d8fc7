"""What an audit found: one record for each rule that fired, with all of its URLs.

A finding holds every URL its rule is about, each once, in the order of the map. What belongs to a
URL (the pages that link to it, the rest of its group, the hops of its chain) is in `where`; what
there is to say about it in a few words (a status, a size, a title) is in `details`.
"""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct, field

Severity = Literal["error", "warning", "notice"]

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "notice")
"""From the worst to the least."""
ASSET_RULES: Final = frozenset({"broken-asset", "refused-asset"})
"""The rules that say what a check of the assets found."""


class Finding(Struct, frozen=True):
    """A rule that fired."""

    severity: Severity
    rule: str
    """The name of the rule, such as `broken-link`; fixed, for programs."""
    title: str
    """One line for people."""
    explanation: str
    """Why it matters and what to do."""
    urls: list[str]
    """What the rule is about; of a group or a chain the first."""
    where: dict[str, list[str]]
    """For each of the URLs that has any: the URLs that belong to it, in the sense of `relation`."""
    relation: str = ""
    """What the URLs in `where` are to theirs, such as `linked from`; empty when there are none."""
    details: dict[str, str] = field(default_factory=dict)
    """For each of the URLs that has one: a few words. They may be crawled text: escape them."""


def fails(findings: Iterable[Finding], threshold: Severity) -> bool:
    """Whether anything was found that is as bad as the threshold, or worse."""
    worst = SEVERITIES[: SEVERITIES.index(threshold) + 1]
    return any(finding.severity in worst for finding in findings)


def counts_of(findings: Iterable[Finding]) -> dict[Severity, int]:
    """Return how many URLs have a finding of each severity; a URL counts for each of its rules."""
    counts: dict[Severity, int] = dict.fromkeys(SEVERITIES, 0)
    for finding in findings:
        counts[finding.severity] += len(finding.urls)
    return counts
