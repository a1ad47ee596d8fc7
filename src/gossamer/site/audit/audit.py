"""Runs all rules over a map."""

from collections.abc import Sequence
from typing import Final

from gossamer.site.audit.case import MAX_WHERE, Case
from gossamer.site.audit.rules import RULES, Rule
from gossamer.site.audit.view import View
from gossamer.site.findings import Finding
from gossamer.site.model import SiteMap

MAX_DETAIL: Final = 300
"""Characters; a title can have a million."""


def audit(site_map: SiteMap) -> list[Finding]:
    """Return a finding for each rule that fires: the worst first, URLs in the order of the map."""
    view = View(site_map)
    found = ((rule, list(rule.find(view))) for rule in RULES)
    return [_finding(rule, cases) for rule, cases in found if cases]


def _finding(rule: Rule, cases: Sequence[Case]) -> Finding:
    where = {case.url: list(case.where[:MAX_WHERE]) for case in cases if case.where}
    details = {case.url: words for case in cases if (words := _words(rule, case))}
    return Finding(
        severity=rule.severity,
        rule=rule.name,
        title=rule.title,
        explanation=rule.explanation,
        urls=[case.url for case in cases],
        where=where,
        relation=rule.relation if where else "",
        details=details,
    )


def _words(rule: Rule, case: Case) -> str:
    """Return the detail; where not all URLs are listed, it says how many there are."""
    detail = case.detail
    if len(detail) > MAX_DETAIL:
        detail = detail[: MAX_DETAIL - 1] + "…"
    total = max(case.total, len(case.where))
    if total <= min(len(case.where), MAX_WHERE):
        return detail
    return ", ".join(filter(None, (detail, f"{rule.relation} {total:,} URLs in all")))
