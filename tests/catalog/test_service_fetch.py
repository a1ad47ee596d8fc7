"""URL_FETCH in the catalog: which sites, which URLs of each, and what is done to them."""

import pytest
from msgspec.structs import replace
from service_desk import NOW, PARENT, Desk

from gossamer.catalog import service_fetch
from gossamer.catalog.service_fetch import fetch_urls, with_attributes
from gossamer.catalog.service_urls import new_urls
from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import CrawlStatus, FetchAlgorithm, SiteState
from gossamer.objects.extras import Attribute
from gossamer.objects.normal import url_md5
from gossamer.objects.problems import CriterionError, ObjectError
from gossamer.objects.selection import Criterions
from gossamer.objects.site import SiteUpdate
from gossamer.objects.url import URL, URLUpdate

NEW = Criterions(where="Status = 1 AND ParentMd5 <> ''", order_by="URL ASC")
PROPORTIONAL = {"algorithm": FetchAlgorithm.PROPORTIONAL}


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    assert made.is_sound()
    made.close()


def site(desk: Desk, name: str, pages: int, **fields) -> str:
    root = f"http://{name}.example/"
    site_id = desk.site(root, **fields)
    if pages:
        desk.add(site_id, *(f"{root}{n}" for n in range(pages)))
    return site_id


def fetch(desk: Desk, now: float = NOW, **fields) -> list[str]:
    request = URLFetch(**{"urls_criterions": NEW, **fields})
    return [url.url[7:].replace(".example", "") for url in fetch_urls(desk.catalog, request, now)]


@pytest.mark.req("S3.172")
def test_without_a_list_all_active_sites_are_asked(desk):
    site(desk, "a", 1)
    site(desk, "b", 1, state=SiteState.SUSPENDED)
    site(desk, "c", 1, priority=500)
    assert fetch(desk) == ["c/0", "a/0"]
    assert fetch(desk, sites_list=[]) == ["c/0", "a/0"]


@pytest.mark.req("S3.172")
def test_a_list_names_the_sites_and_their_order(desk):
    one, two = site(desk, "a", 1), site(desk, "b", 1, priority=500)
    three = site(desk, "c", 1, state=SiteState.DISABLED)
    assert fetch(desk, sites_list=[one, three, "nobody", two]) == ["a/0", "c/0", "b/0"]
    active = Criterions(where="State = 1")
    assert fetch(desk, sites_list=[one, three, two], sites_criterions=active) == ["a/0", "b/0"]


def test_site_criterions_alone_say_which_states_take_part(desk):
    site(desk, "a", 1)
    site(desk, "b", 1, state=SiteState.SUSPENDED)
    assert fetch(desk, sites_criterions=Criterions(where="State = 3")) == ["b/0"]
    assert len(fetch(desk, sites_criterions=Criterions())) == 2


@pytest.mark.req("S3.173")
def test_criterions_select_urls_of_each_site(desk):
    one = site(desk, "a", 3)
    site(desk, "b", 3)
    desk.crawled(one, "http://a.example/0")
    assert fetch(desk) == ["a/1", "a/2", "b/0", "b/1", "b/2"]
    two = Criterions(where=NEW.where, order_by="URL DESC", limit=1)
    assert fetch(desk, urls_criterions=two) == ["a/2", "b/2"]
    second = Criterions(where=NEW.where, order_by="URL DESC", limit=[1, 1])
    assert fetch(desk, urls_criterions=second) == ["a/1", "b/1"]


def test_urls_of_no_site_can_be_fetched(desk):
    desk.add("0", "http://x.example/1")
    assert fetch(desk, sites_list=["0"]) == ["x/1"]
    assert fetch(desk, sites_list=[""]) == ["x/1"]


def test_by_default_sites_are_emptied_in_order(desk):
    site(desk, "a", 5)
    site(desk, "b", 5)
    assert fetch(desk, max_urls=7) == ["a/0", "a/1", "a/2", "a/3", "a/4", "b/0", "b/1"]
    assert fetch(desk, max_urls=0) == []


def test_there_is_a_limit_for_each_site_by_default(desk):
    site(desk, "a", 25)
    assert len(fetch(desk, max_urls=1_000)) == 20


def test_proportionally_each_site_gets_the_same(desk):
    site(desk, "a", 9)
    site(desk, "b", 1)
    site(desk, "c", 9)
    found = fetch(desk, max_urls=9, sites_criterions=Criterions(where="Id <> '0'"), **PROPORTIONAL)
    assert found == ["a/0", "a/1", "a/2", "b/0", "c/0", "c/1", "c/2", "a/3", "a/4"]


def test_proportionally_even_with_more_sites_than_urls(desk):
    for name in "abcd":
        site(desk, name, 3)
    found = fetch(desk, max_urls=2, sites_criterions=Criterions(where="Id <> '0'"), **PROPORTIONAL)
    assert found == ["a/0", "b/0"]


def test_proportionally_all_of_it_when_there_is_less_than_asked_for(desk):
    for name, pages in (("a", 3), ("b", 7)):
        site(desk, name, pages)
    found = fetch(desk, max_urls=100, urls_criterions=NEW, **PROPORTIONAL)
    assert len(found) == len(set(found)) == 10


def test_what_is_fetched_is_marked_and_answered_as_marked(desk):
    site_id = site(desk, "a", 3)
    mark = URLUpdate(status=CrawlStatus.SELECTED_CRAWLING, batch_id=7)
    request = URLFetch(urls_criterions=NEW, max_urls=2, url_update=mark)
    urls = fetch_urls(desk.catalog, request, NOW + 1)
    assert [(url.status, url.batch_id) for url in urls] == [(2, 7), (2, 7)]
    assert desk.url(site_id, "http://a.example/0").status is CrawlStatus.SELECTED_CRAWLING
    assert [url.url for url in fetch_urls(desk.catalog, request, NOW)] == ["http://a.example/2"]
    assert fetch_urls(desk.catalog, request, NOW) == []


def test_marking_does_not_disturb_the_rounds(desk):
    site(desk, "a", 4)
    site(desk, "b", 4)
    mark = URLUpdate(status=CrawlStatus.SELECTED_CRAWLING)
    sites = Criterions(where="Id <> '0'")
    found = fetch(desk, max_urls=6, url_update=mark, sites_criterions=sites, **PROPORTIONAL)
    assert sorted(found) == ["a/0", "a/1", "a/2", "b/0", "b/1", "b/2"]


def test_touching_sites_rotates_them(desk):
    for name in "abc":
        site(desk, name, 2)
    touch = {
        "site_update": SiteUpdate(tc_date="NOW()"),
        "url_update": URLUpdate(status=CrawlStatus.SELECTED_CRAWLING),
        "sites_criterions": Criterions(where="Id <> '0'"),
        "max_urls": 1,
    }
    assert [fetch(desk, NOW + n, **touch)[0] for n in range(6)] == [
        "a/0",
        "b/0",
        "c/0",
        "a/1",
        "b/1",
        "c/1",
    ]


def test_macros_are_the_site_and_the_values_of_queries(desk):
    one = site(desk, "a", 3)
    site(desk, "b", 3)
    desk.crawled(one, "http://a.example/2", depth=5)
    own = Criterions(where="'%SITE_ID%' = Site_Id AND ParentMd5 <> ''", order_by="URL")
    assert len(fetch(desk, urls_criterions=own)) == 6
    deepest = Criterions(
        where="Depth = %DEEPEST% AND ParentMd5 <> ''",
        order_by="URL",
        sql={"deepest": "SELECT MAX(Depth) FROM urls_%SITE_ID% WHERE ParentMd5 <> ''"},
    )
    assert fetch(desk, urls_criterions=deepest) == ["a/2", "b/0", "b/1", "b/2"]
    as_written = replace(deepest, where="Depth = %deepest% AND ParentMd5 <> ''")
    assert fetch(desk, urls_criterions=as_written) == ["a/2", "b/0", "b/1", "b/2"]
    nothing = Criterions(
        where="Depth = %NONE%", sql={"none": "SELECT Depth FROM urls WHERE Depth = 77"}
    )
    assert fetch(desk, urls_criterions=nothing) == []


def test_the_macro_of_the_site_stands_for_any_id_wherever_it_is(desk):
    named = desk.site("http://a.example/", id="one-site")
    criterions = Criterions(
        where="`urls_%SITE_ID%`.`Status` = 1 AND Depth = %least%",
        sql={"least": "SELECT MIN(Depth) FROM `urls_%SITE_ID%` WHERE Site_Id = %SITE_ID%"},
    )
    assert fetch(desk, sites_list=[named], urls_criterions=criterions) == ["a/"]


@pytest.mark.parametrize(
    "criterions",
    [
        Criterions(where="Depth = %X%", sql={"x": "SELECT doc_id FROM url"}),
        Criterions(where="Depth = %X%", sql={"x": "DELETE FROM urls"}),
        Criterions(where="Depth = %UNKNOWN%"),
        Criterions(where="batch_id IN (SELECT 1)"),
        Criterions(order_by="random()"),
        Criterions(limit="1; DROP TABLE url"),
    ],
)
def test_queries_of_clients_can_do_nothing_else(desk, criterions):
    site(desk, "a", 1)
    with pytest.raises(CriterionError):
        fetch(desk, urls_criterions=criterions)


def test_a_site_that_is_named_twice_is_asked_once(desk):
    one = site(desk, "a", 2)
    assert fetch(desk, sites_list=[one, one]) == ["a/0", "a/1"]


def test_more_urls_than_one_answer_holds_are_neither_told_nor_marked(desk, monkeypatch):
    monkeypatch.setattr(service_fetch, "_MOST_URLS", 2)
    site(desk, "a", 3)
    mark = URLUpdate(status=CrawlStatus.SELECTED_CRAWLING)
    with pytest.raises(ObjectError, match=r"maxURLs: at most 2 URLs"):
        fetch(desk, url_update=mark)
    assert fetch(desk, url_update=mark, max_urls=2) == ["a/0", "a/1"]


def test_a_fetch_that_fails_has_touched_nothing(desk):
    site_id = site(desk, "a", 1)
    with pytest.raises(CriterionError):
        fetch(
            desk,
            site_update=SiteUpdate(tc_date="NOW()"),
            url_update=URLUpdate(status=CrawlStatus.SELECTED_CRAWLING, p_date="NEVER"),
        )
    assert desk.status(site_id).tc_date is None
    assert desk.url(site_id, "http://a.example/0").status is CrawlStatus.NEW


def test_attributes_come_along_by_name(desk):
    site_id = desk.site()
    attributes = [Attribute(name=name, value=name) for name in ("one", "two")]
    url = URL(url="http://a.example/1", site_id=site_id, parent_md5=PARENT, attributes=attributes)
    new_urls(desk.catalog, [url], NOW)
    urls = fetch_urls(desk.catalog, URLFetch(urls_criterions=NEW), NOW)
    assert urls[0].url_md5 == url_md5("http://a.example/1")
    for names, expected in ((["*"], ["one", "two"]), (["two"], ["two"]), ([], [])):
        (dressed,) = with_attributes(desk.catalog, urls, names)
        assert [each.name for each in dressed.attributes] == expected
