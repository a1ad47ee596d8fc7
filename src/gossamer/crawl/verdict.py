"""Whether an outcome is final, and if not, when the URL is tried again. Pure."""

from typing import Final

from gossamer.catalog.catalog import Verdict
from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Findings
from gossamer.outcomes import RULES, Outcome, State, rule_of, wait_before_try

# How that ends which is never tried again, whatever its status: most of what there is to judge.
_FINAL_AT_ONCE: Final = {
    int(outcome): rule.final
    for outcome, rule in RULES.items()
    if rule.tries == 1 and outcome != Outcome.HTTP_4XX
}


def verdict(findings: Findings, settings: UrlServerSettings, now: float) -> Verdict:
    """Return what the catalog is to remember of these findings; `now` is wall time."""
    outcome = findings.outcome
    final = _FINAL_AT_ONCE.get(outcome)
    if final is not None and findings.tries > 0:
        return Verdict(findings, final, 0.0)
    rule = rule_of(outcome, findings.status)
    if findings.tries >= rule.tries:
        return Verdict(findings, rule.final, 0.0)
    wait = wait_before_try(
        outcome,
        findings.tries,
        settings.retry_soon_seconds,
        settings.retry_back_off_seconds,
        settings.max_tries,
        status=findings.status,
    )
    if wait is None:
        return Verdict(findings, rule.final, 0.0)
    if findings.retry_after_seconds is not None:
        wait = max(wait, min(findings.retry_after_seconds, settings.max_back_off_seconds))
    return Verdict(findings, State.PENDING, now + wait)
