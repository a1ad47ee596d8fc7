"""Answers of several nodes made into one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.objects.answers import ClientResponse, ClientResponseItem, GeneralResponse
from gossamer.objects.content import Content, URLContentResponse
from gossamer.objects.criterions import parse_order
from gossamer.objects.enumerations import CrawlStatus, Operation, SiteState
from gossamer.objects.extras import Attribute, CustomResponse
from gossamer.objects.limits import limit_of_node
from gossamer.objects.merge import (
    merge_contents,
    merge_general,
    merge_response,
    merge_sites,
    merge_urls,
)
from gossamer.objects.moments import Moment
from gossamer.objects.site import Site
from gossamer.objects.url import URL


def url(name: str, **fields: object) -> URL:
    return URL(url=f"http://a.example/{name}", url_md5=name, **fields)


def content(name: str, raw: str = "", **db_fields: object) -> URLContentResponse:
    return URLContentResponse(
        site_id="s",
        url_md5=name,
        raw_content_md5=raw,
        raw_contents=[Content(buffer="eA==")],
        db_fields=db_fields,
    )


def item(answer: object, **fields: object) -> ClientResponseItem:
    return ClientResponseItem(item_object=answer, **fields)


@pytest.mark.parametrize(
    ("field", "values", "expected"),
    [
        ("resources", (1, 2, 3), 6),
        ("contents", (1, 2, 3), 6),
        ("collected_urls", (1, 2, 3), 6),
        ("new_urls", (1, 2, 3), 6),
        ("deleted_urls", (1, 2, 3), 6),
        ("errors", (1, 2, 3), 6),
        ("size", (10, 0, 5), 15),
        ("iterations", (4, 9, 2), 9),
        ("error_mask", (1, 6, 8), 15),
        ("avg_speed", (40, 10, 30), 10),
        ("max_urls", (34, 34, 34), 102),
        ("max_resources", (0, 0, 0), 0),
        ("max_errors", (5, 0, 5), 0),
        ("priority", (7, 7, 7), 7),
    ],
)
def test_fields_of_a_site_are_merged_each_in_its_way(field, values, expected):
    merged = merge_sites([Site(id="s", **{field: value}) for value in values])
    assert getattr(merged, field) == expected


@given(st.integers(0, 10**6), st.integers(1, 20))
def test_summed_limits_undo_the_division_at_least(limit, nodes):
    shares = [Site(id="s", max_urls=limit_of_node(limit, nodes)) for _ in range(nodes)]
    merged = merge_sites(shares).max_urls
    assert limit <= merged < limit + nodes


COUNTERS = st.builds(
    Site,
    id=st.just("s"),
    resources=st.integers(0, 1000),
    error_mask=st.integers(0, 2**53),
    iterations=st.integers(0, 99),
    avg_speed=st.integers(0, 99),
    max_urls=st.integers(0, 3),
    state=st.sampled_from([SiteState.ACTIVE, SiteState.NOT_FOUND]),
)


@given(st.lists(COUNTERS, min_size=1, max_size=4), st.randoms())
def test_the_order_of_nodes_does_not_matter_for_counters(sites, random):
    shuffled = list(sites)
    random.shuffle(shuffled)
    one, other = merge_sites(sites), merge_sites(shuffled)
    known = [site for site in sites if site.state != SiteState.NOT_FOUND]
    if known:
        assert one == other
        assert one.resources == sum(site.resources for site in known)
        assert one.state is SiteState.ACTIVE
    else:
        assert one.state is SiteState.NOT_FOUND


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (
            {"crawled": 0, "status": CrawlStatus.PROCESSED},
            {"crawled": 1, "status": CrawlStatus.NEW},
        ),
        ({"status": CrawlStatus.NEW}, {"status": CrawlStatus.CRAWLED}),
        ({"u_date": Moment("2026-01-01T00:00:00Z")}, {"u_date": Moment("2026-01-02 00:00:00")}),
        ({"u_date": None}, {"u_date": Moment("2026-01-02 00:00:00")}),
    ],
)
def test_the_better_record_of_a_url_wins(worse, better):
    low, high = url("x", **worse), url("x", **better)
    assert merge_urls([[low], [high]]) == merge_urls([[high], [low]]) == [high]


def test_a_url_of_two_sites_stays_one_of_each():
    own, other = url("x", site_id="s"), url("x", site_id="t")
    assert merge_urls([[own, other], [own, other]]) == [own, other]


def test_urls_are_sorted_by_the_first_criterion():
    urls = [[url("a", size=3), url("b", size=1)], [url("c", size=2)]]
    merged = merge_urls(urls, parse_order("Size DESC, URL"))
    assert [each.url_md5 for each in merged] == ["a", "c", "b"]
    dated = [
        [url("a", u_date=Moment("2026-01-02"))],
        [url("b"), url("c", u_date=Moment("2026-01-01"))],
    ]
    assert [each.url_md5 for each in merge_urls(dated, parse_order("UDate"))] == ["b", "c", "a"]
    assert [each.url_md5 for each in merge_urls(dated, parse_order("LENGTH(URL)"))] == list("abc")


URLS = st.builds(
    url,
    st.sampled_from("abcd"),
    crawled=st.integers(0, 1),
    status=st.sampled_from(CrawlStatus),
    size=st.integers(0, 3),
)


@given(st.lists(st.lists(URLS, max_size=4), max_size=4))
def test_each_url_is_there_once_and_none_is_lost(lists):
    merged = merge_urls(lists)
    names = [each.url_md5 for each in merged]
    assert len(set(names)) == len(names)
    assert set(names) == {each.url_md5 for urls in lists for each in urls}
    assert merge_urls([merged]) == merged


def test_contents_that_are_empty_are_dropped():
    empty = URLContentResponse(url_md5="x")
    assert merge_contents([[empty], [content("y")]]) == [content("y")]


def test_contents_are_told_apart_by_three_sums_within_a_site():
    low, high = content("x", "r", Status=4, Crawled=1), content("y", "r", Status=7, Crawled=1)
    assert merge_contents([[low], [high]]) == [high]
    elsewhere = replace(high, site_id="t")
    assert merge_contents([[low], [elsewhere]]) == [low, elsewhere]
    crawled_here = content("x", Status=4, Crawled=2)
    assert merge_contents([[content("x", Status=7, Crawled=0)], [crawled_here]]) == [crawled_here]


def test_a_content_may_link_two_others():
    first, second, link = content("x"), content("y", "r"), content("x", "r", Crawled=1)
    for order in itertools.permutations([first, second, link]):
        assert merge_contents([order]) == [link]


CONTENTS = st.builds(
    content, st.sampled_from("abc"), st.sampled_from(["", "r", "q"]), Status=st.integers(0, 7)
)


@given(st.lists(st.lists(CONTENTS, max_size=4), max_size=4))
def test_no_two_contents_that_are_kept_are_the_same(lists):
    merged = merge_contents(lists)
    for key in ("url_md5", "raw_content_md5"):
        values = [getattr(each, key) for each in merged if getattr(each, key)]
        assert len(set(values)) == len(values)
    assert bool(merged) == any(lists)


def test_general_answers_become_one():
    merged = merge_general(
        [
            GeneralResponse(statuses=[0]),
            GeneralResponse(error_code=2020, error_message="a", statuses=[1]),
            GeneralResponse(error_code=2021, error_message="a"),
        ]
    )
    assert merged == GeneralResponse(error_code=2020, error_message="a", statuses=[0, 1])


def test_items_are_joined_with_semicolons():
    response = ClientResponse(
        items_list=[
            item(Site(id="s", errors=1), host="a", port=1, node="x", time=5, id=9),
            item(Site(id="s", errors=2), host="b", port=2, node="y", time=7),
        ]
    )
    (merged,) = merge_response(Operation.SITE_STATUS, response).items_list
    assert (merged.host, merged.port, merged.node, merged.time) == ("a;b", "1;2", "x;y", "5;7")
    assert merged.error_code == "0;0"
    assert merged.item_object == Site(id="s", errors=3)


@pytest.mark.parametrize(
    ("operation", "answers", "expected"),
    [
        (
            Operation.SITE_FIND,
            ([Site(id="a", size=1)], [Site(id="a", size=2)]),
            [Site(id="a", size=3)],
        ),
        (Operation.SITE_FIND, ([], []), []),
        (Operation.URL_STATUS, ([url("a")], [url("a", crawled=1)]), [url("a", crawled=1)]),
        (Operation.URL_CONTENT, ([content("a")], [URLContentResponse()]), [content("a")]),
        (Operation.URL_NEW, (GeneralResponse(statuses=[0]),) * 2, GeneralResponse(statuses=[0, 0])),
        (
            Operation.ATTR_FETCH,
            ([Attribute(name="a")], [Attribute(name="b")]),
            [Attribute(name="a"), Attribute(name="b")],
        ),
        (
            Operation.SITE_STATUS,
            (Site(id="a", state=SiteState.NOT_FOUND), Site(id="a", size=3)),
            Site(id="a", size=3),
        ),
    ],
)
def test_each_operation_is_merged_in_its_way(operation, answers, expected):
    response = ClientResponse(items_list=[item(answer) for answer in answers])
    (merged,) = merge_response(operation, response).items_list
    assert merged.item_object == expected


def test_nodes_that_failed_take_no_part_but_are_seen():
    response = ClientResponse(
        items_list=[
            item([url("a")], host="a"),
            item(None, host="b", error_code=2, error_message="broken"),
        ]
    )
    (merged,) = merge_response(Operation.URL_STATUS, response).items_list
    assert merged.item_object == [url("a")]
    assert (merged.error_code, merged.error_message, merged.host) == ("0;2", "broken", "a;b")


@pytest.mark.req("S3.29")
def test_a_site_is_absent_if_no_node_has_it():
    nobody = Site(id="s", state=SiteState.NOT_FOUND)
    absent = item(nobody, error_code=2, error_message="site id not found: s")
    broken = item(None, error_code=2, error_message="broken")

    def merged(*items):
        response = merge_response(Operation.SITE_STATUS, ClientResponse(items_list=[*items]))
        (one,) = response.items_list
        return one.item_object, one.error_code, one.error_message

    assert merged(absent, absent) == (nobody, "2;2", "site id not found: s")
    assert merged(absent, item(Site(id="s", size=3))) == (Site(id="s", size=3), "0;0", "")
    assert merged(absent, broken) == (nobody, "2;2", "site id not found: s; broken")
    assert merged(broken, item(Site(id="s"))) == (Site(id="s"), "2;0", "broken")


def test_one_node_is_left_as_it_is():
    for items in ([], [item(Site(id="s"), port=7)]):
        response = ClientResponse(items_list=items)
        assert merge_response(Operation.SITE_STATUS, response) is response


def test_rows_of_queries_are_those_of_all_nodes():
    def told(query: str | list[str], *results: object, problem: str | None = None) -> object:
        answers = [CustomResponse(query=query, result=result) for result in results]
        answers.append(CustomResponse(query=query, err_string=problem))
        response = ClientResponse(items_list=[item(answer) for answer in answers])
        return merge_response(Operation.SQL_CUSTOM, response).items_list[0].item_object

    assert told("q", [[1]], [[2], [3]]) == CustomResponse(query="q", result=[[1], [2], [3]])
    both = told(["q", "r"], [[[1]], [[2]]], [[[3]]], problem="no such table: r")
    assert isinstance(both, CustomResponse)
    assert both.result == [[[1], [3]], [[2]]]
    assert both.err_string == "no such table: r"
    assert told("q", problem="no").result is None
