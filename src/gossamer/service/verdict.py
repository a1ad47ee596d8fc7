"""What becomes of a URL of a batch that failed: nothing is tried again within a batch. Pure."""

from gossamer.catalog.catalog import Verdict
from gossamer.config.settings import Settings
from gossamer.crawl.verdict import verdict as usual_verdict
from gossamer.messages import Findings
from gossamer.outcomes import FOREVER, RULES, Outcome, State


def service_verdict(findings: Findings, settings: Settings, now: float) -> Verdict:
    """Return what the catalog is to remember of a visit.

    A failure is told with its bit, and the site decides about another run. Without robots.txt
    nothing is allowed (RFC 9309), which ends the item, too.
    """
    rule = RULES[findings.outcome]
    if findings.outcome == Outcome.POLICY_ROBOTS_UNREACHABLE:
        return Verdict(findings, State.EXCLUDED, 0.0)
    if findings.outcome == Outcome.STORE_FAILED and findings.status:
        # It came, and cannot be kept where it belongs; without an answer it was never asked for.
        return Verdict(findings, State.FAILED, 0.0)
    if rule.tries == FOREVER or findings.outcome == Outcome.REDIR_LOOP:
        return usual_verdict(findings, settings.urlserver, now)
    return Verdict(findings, rule.final, 0.0)
