"""The graph: numbers, URLs, links and bytes, all worked out from the seed."""

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fakeweb.graph import FAN, Graph, Kind, Place
from gossamer.fakeweb.hosts import Hosts
from gossamer.fakeweb.options import Options
from gossamer.fakeweb.pages import Writer, assets, is_picture

PORT = 8080


def graph(**options):
    chosen = Options(**options)
    return Graph(chosen, Hosts(chosen, PORT))


@st.composite
def webs(draw):
    pages = draw(st.integers(1, 400))
    extras = {
        name: draw(st.integers(-1, 40))
        for name in ("redirects", "duplicates", "disallowed", "nofollow", "gone")
    }
    return graph(
        pages=pages,
        hosts=draw(st.integers(1, min(pages, 12))),
        names=draw(st.booleans()),
        query_every=draw(st.sampled_from((0, 1, 2, 10))),
        sitemap_pages=draw(st.integers(0, 20)),
        **extras,
    )


@given(webs())
def test_every_place_is_found_again_by_its_url_and_no_two_share_one(web):
    urls = set()
    for place in web.places():
        assert web.find(web.host(place), web.path(place)) == place
        urls.add(web.url(place))
    assert len(urls) == sum(1 for _ in web.places())


@given(webs(), st.text(max_size=30), st.integers(0, 11))
def test_a_path_that_is_no_place_finds_nothing(web, text, host):
    place = web.find(host, "/" + text)
    assert place is None or web.path(place) == "/" + text


@given(webs())
def test_every_extra_hangs_on_exactly_one_page_of_its_own_host(web):
    """An extra that hung nowhere could never be found; one on another host would miss its scope."""
    linked = {}
    for page in range(web.options.pages):
        for place in web.extras(page):
            assert place not in linked
            assert web.host(place) == page % web.options.hosts
            linked[place] = page
    direct = {Kind.REDIRECT, Kind.COPY, Kind.NEAR, Kind.PRIVATE, Kind.DRAFT, Kind.OPEN, Kind.GONE}
    assert {place for place in web.places() if place.kind in direct} <= set(linked)


@given(webs())
def test_the_tree_alone_reaches_every_page_from_the_first_home(web):
    seen, waiting = {0}, [0]
    while waiting:
        for place in web.children(waiting.pop()):
            if place.number not in seen:
                seen.add(place.number)
                waiting.append(place.number)
    assert seen == set(range(web.options.pages))


def test_equal_options_give_equal_bytes_and_another_seed_gives_others():
    places = [Place(Kind.PAGE, number) for number in range(50)]
    first = [Writer(graph(pages=50, seed=3)).html(place) for place in places]
    again = [Writer(graph(pages=50, seed=3)).html(place) for place in places]
    other = [Writer(graph(pages=50, seed=4)).html(place) for place in places]
    assert first == again
    assert not set(first) & set(other)
    assert len(set(first)) == len(first)


def test_a_million_pages_cost_no_memory_and_the_last_is_there():
    web = graph(pages=1_000_000, hosts=10_000)
    last = Place(Kind.PAGE, 999_999)
    assert web.find(web.host(last), web.path(last)) == last
    assert b"Page 999999 " in Writer(web).html(last)


def test_a_copy_has_the_bytes_of_its_original_and_its_links_mean_the_same():
    web = graph(pages=200, hosts=3, duplicates=40)
    writer = Writer(web)
    for number in range(40):
        copy = Place(Kind.COPY, number)
        original = Place(Kind.PAGE, web.page_of(copy))
        html = writer.html(copy)
        assert html == writer.html(original)
        hrefs = [part.split('"')[0] for part in html.decode().split('href="')[1:]]
        from_copy = [urljoin(web.url(copy), href) for href in hrefs]
        assert from_copy == [urljoin(web.url(original), href) for href in hrefs]


def test_a_near_copy_differs_in_one_sentence():
    web = graph(pages=100, near_duplicates=10)
    near = Place(Kind.NEAR, 4)
    html = Writer(web).html(near).decode()
    original = Writer(web).html(Place(Kind.PAGE, web.page_of(near))).decode()
    assert html.replace("<p>Printed as number 4.</p>\n", "") == original != html


def test_pages_have_about_the_asked_size_and_number_of_links():
    web = graph(pages=2_000, hosts=4, page_bytes=20_000, links_per_page=60)
    html = Writer(web).html(Place(Kind.PAGE, 100))
    assert 18_000 < len(html) < 22_000
    assert html.count(b"<a href=") == 60


def test_the_tree_is_as_wide_as_it_says():
    web = graph(pages=100, hosts=1)
    assert [place.number for place in web.children(0)] == list(range(1, FAN + 1))


@given(st.integers(0, 3_000_000), st.booleans())
def test_a_host_is_known_by_its_authority(number, names):
    options = Options(pages=3_000_001, hosts=3_000_001, names=names)
    hosts = Hosts(options, PORT)
    assert hosts.number(hosts.authority(number)) == number
    assert hosts.number(hosts.name(number)) == number
    assert hosts.number(f"{hosts.name(number)}:81") is None
    assert hosts.address(number).startswith("127.")


@given(st.text(max_size=20))
def test_a_strange_host_header_is_no_host(text):
    for names in (False, True):
        hosts = Hosts(Options(names=names), PORT)
        number = hosts.number(text)
        assert number is None or 0 <= number < 5


def test_named_hosts_share_the_addresses_evenly():
    hosts = Hosts(Options(pages=100, hosts=12, names=True, addresses=4), PORT)
    assert len({hosts.address(number) for number in range(12)}) == 4
    assert len({hosts.name(number) for number in range(12)}) == 12


def test_assets_are_the_style_sheet_and_pictures():
    assert [path for path in assets() if not is_picture(path)] == ["/static/style.css"]
    assert not is_picture("/img/16.png")
    assert not is_picture("/img/x.png")


@pytest.mark.parametrize(
    "wrong",
    [
        {"pages": 3, "hosts": 4},
        {"hosts": 0},
        {"addresses": 2},
        {"names": True, "hosts": 3, "addresses": 4},
        {"robots": {0: "418"}},
        {"robots": {5: "404"}, "hosts": 5},
    ],
)
def test_options_that_make_no_web_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be|needs|variants"):
        Options(**wrong)
