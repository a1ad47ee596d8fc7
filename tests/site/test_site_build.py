"""Pages as they are made of what the catalog holds."""

import json
from random import Random

import pytest
from msgspec.structs import replace
from walked_sites import START, MadeSite

from gossamer.catalog.catalog import Surveyed
from gossamer.outcomes import Outcome, State
from gossamer.site import keys
from gossamer.site.build import Builder
from gossamer.site.closure import Closure, Met, Names, Reach, closure
from gossamer.site.model import Page, SiteMap, no_assets, summary_of
from gossamer.site.notes import Notes

HOME = "http://example.org/"


def row(doc_id: int, record: object, **fields: object) -> Surveyed:
    told = Surveyed(
        doc_id=doc_id,
        state=int(State.DONE),
        outcome=int(Outcome.OK),
        detail="",
        status=200,
        milliseconds=1,
        content_type="text/html",
        body_bytes=10,
        checksum=doc_id.to_bytes(8, "big"),
        signed_simhash=None,
        redirect_to=None,
        title="",
        targets=b"",
        record=record if isinstance(record, str) else json.dumps(record),
    )
    return replace(told, **fields)


def pages_of(*rows: Surveyed) -> list[Page]:
    builder = Builder()
    builder.note((Met(each.doc_id, f"{HOME}{each.doc_id}", None, 0), each, []) for each in rows)
    return builder.pages(Closure(), all_links=False)


def test_each_page_has_its_own_assets_though_most_pages_share_them():
    shared = {"css": ["http://example.org/a.css"], "js": ["http://example.org/a.js"]}
    first, second, third = pages_of(
        row(1, {"sha256": "1", "assets": shared}),
        row(2, {"sha256": "2", "assets": {"img": ["http://example.org/i.png"]}}),
        row(3, {"sha256": "3", "assets": shared}),
    )
    assert first.assets == third.assets == no_assets() | shared
    assert second.assets == no_assets() | {"img": ["http://example.org/i.png"]}
    assert [page.checksum for page in (first, second, third)] == ["1", "2", "3"]


def test_assets_are_counted_once_however_many_pages_have_them():
    one, other = {"css": ["a", "b"]}, {"css": ["b", "c"], "img": ["i"]}
    pages = pages_of(*(row(n, {"assets": one if n % 2 else other}) for n in range(1, 7)))
    site_map = SiteMap(HOME, "example.org", pages, 1.0, complete=True)
    counted = {kind: count for kind, count in summary_of(site_map).assets.items() if count}
    assert counted == {"css": 3, "img": 1}


def test_what_no_handler_of_ours_noted_says_nothing():
    for record in ("", "7", '{"assets": 7}', '{"assets": {"css": [1]}}', '{"mine": "x"}'):
        (page,) = pages_of(row(1, record, body_bytes=0))
        assert page.checksum == ""
        assert page.assets == no_assets()


def test_a_fingerprint_is_a_number_without_sign():
    (page,) = pages_of(row(1, "", signed_simhash=-1))
    assert page.facts.simhash == (1 << 64) - 1


def test_only_a_page_that_nobody_observed_is_looked_at():
    looked_at = []
    builder = Builder(look=looked_at.append)
    moved = {"status": 301, "redirect_to": HOME}
    rows = (row(1, ""), row(2, "", **moved), row(3, "", status=304), row(4, {"sha256": "4"}))
    builder.note((Met(each.doc_id, f"{HOME}{each.doc_id}", None, 0), each, []) for each in rows)
    assert looked_at == [1, 3]
    assert builder.unseen == [f"{HOME}1", f"{HOME}3"]


@pytest.mark.parametrize("seed", range(20))
def test_who_links_to_a_page_is_the_same_by_keys_and_by_urls(seed, monkeypatch):
    """Also where a page names it twice, where a sitemap names it, and without the compiled part."""
    random = Random(seed)
    site = MadeSite(random, random.choice((1, 5, 30, 80)))
    for url in random.sample(site.urls[1:], len(site.urls) // 5):
        gone = {"state": int(State.FAILED), "outcome": int(Outcome.HTTP_4XX), "status": 404}
        site.rows[url] = replace(site.rows[url], **gone)
    told = [linked(site, by_keys=False), linked(site, by_keys=True)]
    monkeypatch.setattr("gossamer.site.closure.new_urls", keys.PythonUrls)
    told.append(linked(site, by_keys=True))
    assert told == [spelled_out_links(site, told[0])] * 3


def linked(site: MadeSite, *, by_keys: bool) -> list[Page]:
    names = Names(site)
    builder = Builder(names=names if by_keys else None)
    found = closure(site, Notes(), names, START, Reach(), builder.note)
    return builder.pages(found, all_links=False)


def spelled_out_links(site: MadeSite, pages: list[Page]) -> list[Page]:
    """Return these pages with what is to be noted of those that failed."""
    spelled_out = [replace(page, facts=replace(page.facts)) for page in pages]
    for page in spelled_out:
        linking = [each.url for each in pages for link in each.links if link == page.url]
        page.facts.linked_from = linking if page.error else []
        page.facts.linked_count = len(page.facts.linked_from)
    return spelled_out
