"""References made absolute."""

import hashlib
import tracemalloc

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.url import UrlSettings
from gossamer.url.canonical import Joiner, canonicalize
from gossamer.url.generations import Generations

BASES = [
    "http://h/",
    "http://h/a/b/c.html",
    "http://h/a/b/c.html?q=/x/y",
    "http://h/a/b/?q",
    "http://h/a//b/c",
    "http://h//",
    "https://h/a/b/c.html",
    "http://h:8080/x",
    "http://user:pass@h/a/",
    "http://h",
    "HTTP://H./a/b#f/g",
]
PIECES = st.sampled_from(
    [*"/?#.:\\ \t\nax&=%@", "../", "./", "//", "http:", "https:", "http://", "https://o/", "b.html",
     "file:", "ftp:", "mailto:", "javascript:", "data:", "tel:"]
)  # fmt: skip
HREFS = st.one_of(st.lists(PIECES, max_size=7).map("".join), st.text(max_size=15))
PLAIN_HREFS = st.from_regex(
    r"(/|(\.\./){0,6})[a-c1_~,;=+()-]{1,3}([./][a-c1_~,;=+()./-]{1,3}){0,4}/?"
    r"(\?[a-c1=&+/.~,;()-]{0,9})?",
    fullmatch=True,
)
PLAIN_URLS = st.from_regex(
    r"https?://(xn-|[a-c1-]{1,3})(\.?[a-c1-]{1,3}){0,2}(\.com|\.1|\.0x1|\.)?"
    r"(:80|:8)?(/[a-c1~,;=+().-]{0,3}){0,3}(\?[a-c=&/.]{0,4})?",
    fullmatch=True,
)


def expected(base: str, href: str) -> str | None:
    """What the standard says, then our own steps."""
    clean = "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in href)
    try:
        return canonicalize(ada_url.join_url(base, clean))
    except ValueError:
        return None


@given(st.lists(st.tuples(st.sampled_from(BASES), HREFS), max_size=12))
def test_join_agrees_with_the_standard_whatever_came_before(questions):
    """What is remembered for one page is never wrong for another."""
    joiner = Joiner()
    for base, href in questions * 2:
        assert joiner.join(base, href) == expected(base, href), (base, href)


@given(st.sampled_from(BASES), st.lists(PLAIN_HREFS, max_size=8))
def test_plain_references_agree_with_the_standard(base, hrefs):
    assert Joiner().join_all(base, hrefs) == [expected(base, href) for href in hrefs]


@given(st.lists(PLAIN_URLS, max_size=8))
def test_whole_urls_agree_with_the_standard(urls):
    """Also as a base, in any order: being known for canonical must not rub off."""
    joiner = Joiner()
    assert joiner.join_all("http://h/", urls) == [expected("http://h/", url) for url in urls]
    for url in urls:
        canonical = canonicalize(url)
        wanted = None if canonical is None else expected(canonical, "x")
        assert joiner.join(url, "x") == wanted


@given(st.lists(st.tuples(st.sampled_from(BASES), st.lists(HREFS, max_size=6)), max_size=6))
def test_a_tiny_memory_changes_no_answer(pages):
    forgetful = Joiner(cache_bytes=2_000)
    for base, hrefs in pages * 2:
        assert forgetful.join_all(base, hrefs) == [expected(base, href) for href in hrefs]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("", "http://h/a/b?q=1"),
        ("#top", "http://h/a/b?q=1"),
        (" \n#top", "http://h/a/b?q=1"),
        ("?r=2", "http://h/a/b?r=2"),
        ("http:", "http://h/a/b?q=1"),
        ("http:?r", "http://h/a/b?r"),
        ("c", "http://h/a/c"),
        ("http:c", "http://h/a/c"),
    ],
)
def test_reference_that_depends_on_the_whole_base_is_not_taken_from_a_neighbour(href, url):
    joiner = Joiner()
    assert joiner.join("http://h/a/other?q=9", href) is not None
    assert joiner.join("http://h/a/b?q=1", href) == url


@pytest.mark.parametrize(
    "name",
    ["", "b", "b?q", "b?q/r", ".", "..", "./b", "../b", ".b", "%7eb", "%2e", "b c", "b#f/g", "é",
     "b\\c"],
)  # fmt: skip
@pytest.mark.parametrize("folder", ["http://h.example/a/", "http://127.0.0.1:8000/a/", "http://h/"])
def test_base_in_a_folder_that_is_known_is_read_as_if_it_were_not(folder, name):
    settings = UrlSettings(max_bytes=60, sort_query=True)
    for given_settings in (None, settings):
        joiner = Joiner(given_settings)
        joiner.join(folder + "known.html", "x")
        for href in ("x", "", "?r"):
            answer = Joiner(given_settings).join(folder + name, href)
            assert joiner.join(folder + name, href) == answer


def test_base_longer_than_a_url_may_be_is_none_in_a_known_folder_too():
    joiner = Joiner(UrlSettings(max_bytes=60))
    assert joiner.join("http://h/a/b", "c") == "http://h/a/c"
    assert joiner.join("http://h/a/" + "b" * 60, "c") is None
    assert joiner.join("c", "d") is None


def test_query_of_a_base_in_a_known_folder_is_sorted():
    joiner = Joiner(UrlSettings(sort_query=True))
    assert joiner.join("http://h/a/b", "") == "http://h/a/b"
    assert joiner.join("http://h/a/b?d&c", "") == "http://h/a/b?c&d"


def test_base_that_is_not_for_the_web_leaves_absolute_references():
    joiner = Joiner()
    assert joiner.join("data:text/html,x", "http://o/x#f") == "http://o/x"
    assert joiner.join("data:text/html,x", "x") is None
    assert joiner.join("", "//o/x") is None


def test_references_that_differ_in_the_fragment_are_one():
    joiner = Joiner()
    hrefs = ["a/b?c", "a/b?c#d", "a/b?c#e", "/x;y", "/x;y#z"]
    assert joiner.join_all("http://h/", hrefs) == ["http://h/a/b?c"] * 3 + ["http://h/x;y"] * 2


def test_settings_apply_to_joined_urls():
    joiner = Joiner(UrlSettings(sort_query=True, drop_parameters=("tracking",), max_bytes=256))
    assert joiner.join("http://h/", "x?b=1&a=2&utm_source=z") == "http://h/x?a=2&b=1"
    assert joiner.join("http://h/", "http://o.example/?b&a") == "http://o.example/?a&b"
    assert joiner.join("http://h/y?d&c", "#f") == "http://h/y?c&d"
    assert joiner.join("http://h/", "http://o.example/" + "x" * 300) is None
    assert joiner.join("http://h/", "x" * 300) is None
    assert joiner.join("http://h/", "/" + "x" * 300) is None
    assert joiner.join("http://h/", "x%20" * 200) is None
    assert joiner.join("http://h/", "x" * 2_000) is None


def test_keys_are_the_first_half_of_the_md5_of_each_url():
    joiner = Joiner()
    urls = ["http://[::1]:8080/x", "http://h/"]
    expected = b"".join(hashlib.md5(url.encode()).digest()[:8] for url in urls)
    assert joiner.keys(urls) == joiner.keys(urls) == expected


def test_memory_is_bounded_whatever_pages_contain():
    """Distinct references without end, long ones too, stay within the bytes that were granted."""
    joiner = Joiner(cache_bytes=1_000_000)
    tracemalloc.start()
    try:
        for page in range(40):
            base = f"http://h/{page}/"
            hrefs = [f"{page}/{number}?{'x' * 500}" for number in range(200)]
            for url in joiner.join_all(base, hrefs):
                joiner.keys([url])
            joiner.join(base, "javascript:" + "x" * 30_000 + str(page))
            joiner.join("http://h/same/", f"{page}" + "y" * 5_000)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 3_000_000


def test_recently_used_answers_outlive_a_flood():
    answers = Generations(lambda key: [key], lambda key, _: 250 + len(key), 20_000)
    kept = answers["http://h/kept"]
    for number in range(2_000):
        assert answers[f"http://h/{number}"] == [f"http://h/{number}"]
        if number % 10 == 0:
            assert answers["http://h/kept"] is kept
