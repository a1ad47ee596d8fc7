"""Whether an outcome is final, and if not, when the URL is tried again. Pure."""

from gossamer.catalog.catalog import Verdict
from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Findings
from gossamer.outcomes import State, rule_of, wait_before_try


def verdict(findings: Findings, settings: UrlServerSettings, now: float) -> Verdict:
    """Return what the catalog is to remember of these findings; `now` is wall time."""
    outcome = findings.outcome
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
