"""Whether an outcome is final, and when a URL is tried again."""

import pytest

from gossamer.config.urlserver import UrlServerSettings
from gossamer.crawl.verdict import verdict
from gossamer.messages import Findings
from gossamer.outcomes import Outcome, State, rule_of

NOW = 1_000.0
SETTINGS = UrlServerSettings(retry_soon_seconds=2.0, retry_back_off_seconds=60.0)


def findings(status: int, tries: int = 1, outcome: Outcome = Outcome.HTTP_4XX, **more) -> Findings:
    return Findings(1, 1, int(outcome), status, NOW, 5, tries, **more)


@pytest.mark.parametrize("status", [408, 421, 425])
def test_what_is_about_the_moment_or_the_connection_is_tried_again(status):
    waits = []
    for tries in (1, 2):
        again = verdict(findings(status, tries), SETTINGS, NOW)
        assert again.state is State.PENDING
        waits.append(again.due_at - NOW)
    assert waits == [2.0, 4.0]
    assert verdict(findings(status, 3), SETTINGS, NOW).state is State.FAILED
    assert verdict(findings(status, retry_after_seconds=9.0), SETTINGS, NOW).due_at == NOW + 9.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 423, 426, 428, 431, 451, 499])
def test_what_a_client_is_told_about_a_document_is_final(status):
    assert verdict(findings(status), SETTINGS, NOW).state is State.FAILED


def test_fewer_tries_may_be_wanted():
    once = UrlServerSettings(max_tries=1)
    assert verdict(findings(408), once, NOW).state is State.FAILED


def test_a_status_counts_only_with_its_own_outcome():
    cut = findings(408, outcome=Outcome.OK)
    assert verdict(cut, SETTINGS, NOW).state is State.DONE


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("tries", [0, 1, 2, 9])
def test_what_ends_with_its_first_try_ends_as_its_rule_says(outcome, tries):
    for status in (0, 200, 404, 408):
        rule = rule_of(outcome, status)
        judged = verdict(findings(status, tries, outcome), SETTINGS, NOW)
        assert (judged.due_at == 0.0) == (tries >= rule.tries)
        assert judged.state == (rule.final if tries >= rule.tries else State.PENDING)
