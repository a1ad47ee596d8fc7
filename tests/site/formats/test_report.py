"""The report holds all it needs and nothing that was crawled can become more than text."""

import base64
import hashlib
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from map_samples import (
    SITE,
    chain,
    findings,
    hostile,
    hostile_findings,
    page,
    realistic,
    site_map_of,
    small,
)

import gossamer.site.report
from gossamer.site.formats import html
from gossamer.site.report.data import ASSET_FIELDS, PAGE_FIELDS

FOLDER = Path(gossamer.site.report.__file__).parent


def written(site_map, found=(), **options) -> str:
    file = io.BytesIO()
    html.write(site_map, file, found, **options)
    return file.getvalue().decode()


def data_of(report: str) -> dict:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', report, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


def pages_of(report: str) -> list[dict]:
    return [dict(zip(PAGE_FIELDS, row, strict=True)) for row in data_of(report)["pages"]]


def test_the_policy_allows_the_style_and_the_script_by_their_hashes_and_no_address():
    report = written(hostile(), hostile_findings())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', report)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    for name, element in (("style-src", "style"), ("script-src", "script")):
        text = re.findall(rf"<{element}>(.*?)</{element}>", report, re.DOTALL)
        assert len(text) == 1
        digest = base64.b64encode(hashlib.sha256(text[0].encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    # The hashes, looked at above, may have any letters.
    others = re.sub(r"'sha256-[^']*'", "", policy[1])
    assert not re.search(r"https?:|//", others)


def test_crawled_text_cannot_end_the_element_of_the_data():
    report = written(hostile(), hostile_findings())
    assert len(re.findall(r"<script", report)) == 2
    assert len(re.findall(r"</script", report)) == 2
    start = report.index('id="data">') + len('id="data">')
    assert "<" not in report[start : report.index("</script>", start)]


def test_the_name_of_the_site_is_escaped():
    report = written(site_map_of([], site="<b>&\"'{{data}}{{style}}"))
    assert "<b>" not in report
    assert "&lt;b&gt;&amp;&quot;&#x27;{{data}}{{style}}" in report


def test_the_script_never_makes_markup_from_text():
    for path in FOLDER.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        banned = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
        assert not re.search(banned, text), path
        assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|importScripts|import\(", text), (
            path
        )


def test_nothing_outside_of_the_file_is_named_by_the_template_or_the_style():
    for name in ("report.html", "report.css"):
        text = (FOLDER / name).read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text.replace("http-equiv", "")
        assert "@import" not in text
        assert "url(" not in text


def test_the_data_names_pages_by_number():
    shown = pages_of(written(small()))
    assert [one["url"] for one in shown] == [one.url for one in small().pages]
    start, about, index, old, gone = shown
    assert (start["parent"], about["parent"]) == (None, 0)
    assert index["alias_of"] == 0
    assert (old["alias_of"], old["redirect_to"]) == (1, 1)
    assert (gone["error"], gone["linked"], gone["linked_from"]) == ("404 Not Found", 7, [0, 1])


def test_an_asset_is_told_once_with_the_pages_that_use_it():
    site_map = realistic()
    data = data_of(written(site_map))
    assets = [dict(zip(ASSET_FIELDS, row, strict=False)) for row in data["assets"]]
    distinct = {
        (kind, url) for one in site_map.pages for kind in one.assets for url in one.assets[kind]
    }
    assert {(asset["kind"], asset["url"]) for asset in assets} == distinct
    assert len(assets) == len(distinct)
    logo = next(asset for asset in assets if asset["url"].endswith("/logo.svg"))
    users = [n for n, one in enumerate(site_map.pages) if logo["url"] in one.assets["img"]]
    assert logo["pages"] == len(users)
    assert logo["used_by"] == users[:50]
    for row, one in zip(data["pages"], site_map.pages, strict=True):
        named = [assets[number]["url"] for number in row[PAGE_FIELDS.index("assets")]]
        assert named == [url for urls in one.assets.values() for url in urls]


def test_findings_name_their_urls_by_number_where_they_are_pages():
    site_map = realistic()
    broken, _, blocked = data_of(written(site_map, findings(site_map)))["findings"]
    place, detail, where = broken["urls"][0]
    assert site_map.pages[place].error == detail
    assert [site_map.pages[number].url for number in where] == site_map.pages[
        place
    ].facts.linked_from
    assert blocked["urls"][0] == [SITE + "/private/", "", []]


def test_huge_texts_are_cut():
    site_map = hostile()
    assert max(len(one["title"]) for one in pages_of(written(site_map))) <= 300


def test_parents_in_a_circle_cost_no_page_its_place():
    one, other = page("/a", parent=SITE + "/b"), page("/b", parent=SITE + "/a")
    shown = pages_of(written(site_map_of([page("/", parent=None), one, other])))
    assert [one["parent"] for one in shown] == [None, None, 1]


def test_the_report_says_when_it_was_made():
    report = written(small(), made_at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    assert data_of(report)["made_at"] == "2026-03-01T12:30+00:00"


@pytest.mark.parametrize("make", [lambda: site_map_of([]), lambda: chain(100), realistic])
def test_any_map_can_be_told(make):
    site_map = make()
    assert len(pages_of(written(site_map))) == len(site_map.pages)
