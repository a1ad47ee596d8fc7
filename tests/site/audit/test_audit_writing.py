"""Findings as text and as JSON."""

import io
import re

import msgspec
import pytest
from audit_maps import at, gone, numbered, page, site
from hypothesis import given
from hypothesis import strategies as st

from gossamer.site.audit.audit import audit
from gossamer.site.audit.rules import RULES
from gossamer.site.audit.writing import SHOWN_URLS, write_json, write_text
from gossamer.site.findings import Finding
from gossamer.site.formats.paint import COLOURED, PLAIN

HOSTILE = "\x1b[2J\x07\r\n\u202e</script>"


def text_of(findings, look=PLAIN):
    file = io.StringIO()
    write_text(findings, file, look)
    return file.getvalue()


def json_of(findings):
    file = io.BytesIO()
    write_json(findings, file)
    return file.getvalue()


def test_text_tells_each_rule_with_its_urls():
    explained = {rule.name: rule.explanation for rule in RULES}
    site_map = site(gone("/x"), page("/y", title=""), page("/z", title=""))
    assert text_of(audit(site_map)).splitlines() == [
        "Audit: 1 error, 2 warnings, 0 notices",
        "",
        "error: Broken links (1) [broken-link]",
        f"  {explained['broken-link']}",
        "    https://a.test/x  (404 Not Found)",
        "        linked from https://a.test/",
        "",
        "warning: Missing titles (2) [title-missing]",
        f"  {explained['title-missing']}",
        "    https://a.test/y",
        "    https://a.test/z",
    ]


def test_text_of_no_findings_says_so():
    assert text_of([]) == "Audit: 0 errors, 0 warnings, 0 notices\n"


def test_text_shows_the_first_twenty_urls_and_three_places():
    many = [at(path) for path in numbered(1025)]
    finding = Finding("error", "r", "T", "E", many, {many[0]: many[:10]}, "linked from")
    lines = text_of([finding]).splitlines()
    assert sum(line.startswith("    https://") for line in lines) == SHOWN_URLS == 20
    assert sum("linked from" in line for line in lines) == 3
    assert "        ... and 7 more" in lines
    assert lines[-1] == "    ... and 1,005 more"


def test_text_that_shows_all_does_not_speak_of_more():
    shown = [at(path) for path in numbered(SHOWN_URLS)]
    finding = Finding("error", "r", "T", "E", shown, {shown[0]: shown[:3]}, "linked from")
    assert "more" not in text_of([finding])


def test_colours_only_on_a_terminal_that_wants_them():
    findings = audit(site(gone("/x")))
    assert "\x1b" not in text_of(findings)
    assert "\x1b[31merror\x1b[0m" in text_of(findings, COLOURED)


@given(st.text(min_size=1) | st.just(HOSTILE))
def test_no_crawled_text_can_steer_a_terminal(text):
    finding = Finding("error", "r", "T", "E", [text], {text: [text]}, "near to", {text: text})
    lines = text_of([finding]).split("\n")
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 7
    written = json_of([finding])
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", written.decode())
    assert msgspec.json.decode(written, type=dict)["findings"][0]["urls"] == [text]


@pytest.mark.parametrize("pages", [[], [gone("/x"), page("/y", title="", milliseconds=9_999)]])
def test_json_holds_everything(pages):
    findings = audit(site(*pages))
    read = msgspec.json.decode(json_of(findings))
    assert list(read) == ["counts", "findings"]
    assert msgspec.convert(read["findings"], list[Finding]) == findings
    assert read["counts"] == {
        "error": 1 if pages else 0,
        "warning": 2 if pages else 0,
        "notice": 0,
    }


def test_json_is_one_finding_a_line():
    findings = audit(site(gone("/x"), page("/y", title="")))
    lines = [line for line in json_of(findings).splitlines() if line.startswith(b'{"severity"')]
    assert len(lines) == len(findings) == 2
