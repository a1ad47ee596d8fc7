"""Every rule fires where it should and nowhere else."""

import re
from pathlib import Path

import pytest
from audit_examples import EXAMPLES
from audit_maps import found, site

from gossamer.outcomes import Outcome, name_of
from gossamer.site.audit import standing
from gossamer.site.audit.audit import audit
from gossamer.site.audit.rules import RULES
from gossamer.site.findings import SEVERITIES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "audit.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_fires(rule):
    example = EXAMPLES[rule.name]
    assert found(rule.name, example.fires) == example.finds


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_quiet_where_nothing_is_wrong(rule):
    assert found(rule.name, EXAMPLES[rule.name].quiet) == {}


def test_a_site_without_fault_has_no_findings():
    assert audit(site()) == []


def test_findings_begin_with_the_worst():
    severities = [SEVERITIES.index(rule.severity) for rule in RULES]
    assert severities == sorted(severities)
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert len({rule.title for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_the_listed_urls_are(rule):
    """A relation stands where URLs are listed, and only there."""
    lists_any = any(EXAMPLES[rule.name].finds.values())
    assert bool(rule.relation) == lists_any
    [result] = [each for each in audit(EXAMPLES[rule.name].fires) if each.rule == rule.name]
    assert result.relation == rule.relation
    assert (result.severity, result.title, result.explanation) == (
        rule.severity,
        rule.title,
        rule.explanation,
    )


def test_the_reference_page_has_the_same_rules():
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (\w+) \| ([^|]+) \|", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert [row for row in rows if row[1] in SEVERITIES] == [
        (rule.name, rule.severity, rule.title) for rule in RULES
    ]


def test_the_outcomes_that_the_rules_know_exist():
    names = {name_of(outcome) for outcome in Outcome}
    assert names >= standing.OTHER_RULES | standing.NOT_UNDERSTOOD | standing.SERVER_AWAY
    for beginning in standing.OUR_OWN_DOING:
        assert any(name.startswith(beginning) for name in names)
