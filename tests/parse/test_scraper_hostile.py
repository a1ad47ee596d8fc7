"""Hostile pages, templates and properties: an answer, in time, and never an exception."""

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turbohtml import Element, parse

from gossamer.clock import ManualClock
from gossamer.parse.scraper import scrape
from gossamer.parse.scraper_css import selector_price
from gossamer.parse.scraper_expression import QueryError, Shape, read_expression
from gossamer.parse.scraper_records import Problems
from gossamer.parse.scraper_template import read_templates
from gossamer.parse.scraper_xpath import Query, shape_of

URL = "https://a.example/x"
FLAT = b"<body>" + b"<p class=a>x</p>" * 20_000
DEEP = b"<body>" + b"<div>" * 5_000 + b"x" * 1_000_000


def scraped(template, page=b"<h1>x</h1><p>y</p>", **properties):
    if not isinstance(template, str):
        template = json.dumps(template)
    return scrape(page, "text/html", "", URL, {"template": template, **properties})


@pytest.mark.parametrize(
    "template",
    [
        "", "{", "[]", "1", '"x"', "null", '{"templates": 1}', '{"templates": [1]}',
        '{"templates": [{"tags": 1}]}', '{"templates": [{"tags": {"t": [{"join": "?"}]}}]}',
        '{"templates": [{"tags": {"t": [[["x"]]]}}]}', '{"title": [{"x": []}, 1]}', "[" * 100_000,
        '{"templates": [], "select": "?"}', '{"a": ' * 5_000, '{"x": [1]}',
        json.dumps({"templates": [{"tags": {"t": ["//h1"] * 33}}]}),
        json.dumps({"templates": [{"tags": {f"t{n}": ["//h1"] for n in range(129)}}]}),
        json.dumps({"templates": [{"tags": {}}] * 65}), " " * (1 << 20) + "{}1",
    ],
)  # fmt: skip
def test_a_template_that_cannot_be_used_is_a_scraper_error(template):
    result = scraped(template)
    assert result.contents == [] or not template
    assert result.errors == (1 << 36 if template else 0)
    assert bool(result.messages) == bool(template)
    assert all(len(message) <= 300 for message in result.messages)


@pytest.mark.parametrize(
    ("target", "bit"),
    [
        ("//p[", 36), ("", 36), ("//", 36), ("$x", 36), ("//svg:a", 36), ("nothing()", 36),
        ("//p]", 36), ("(" * 40 + "1" + ")" * 40, 36), ("//p" * 400, 36), ("document('x')", 36),
        ("//p[matches(., 'x')]", 38), ("re:test('a', 'b')", 38), ("replace('a','b','c')", 38),
        ("//bogus-axis::p", 36), ("id('x')", 36),
    ],
)  # fmt: skip
def test_a_bad_xpath_is_an_error_bit_and_a_message(target, bit):
    result = scraped({"templates": [{"tags": {"t": [{"target": target}], "h": ["//h1"]}}]})
    assert result.errors == 1 << bit
    (message,) = result.messages
    assert message.startswith("tag t: ")
    assert result.contents == [{"h": "x", "link": URL}]


def test_a_bad_selector_is_an_error_bit_and_a_message():
    result = scraped({"templates": [{"tags": {"t": [{"css": "p[["}]}}]})
    assert result.errors == 1 << 36
    assert "invalid CSS selector" in result.messages[0]


MANY = b"<body>" + b"<p>" * 100_000
NESTED = b"<body>" + b"<div>" * 3_000


@pytest.mark.parametrize(
    ("selector", "page"),
    [
        ("p:nth-of-type(3n+1) ~ p:nth-last-of-type(3n)", MANY), ("p:has(~ p ~ q)", MANY),
        (":is(.q div div) :is(.q div div) div", NESTED), ("div:has(div:has(div:has(.q)))", NESTED),
        (":not(:is(.q div) div, :has(q))" * 30, NESTED),
    ],
)  # fmt: skip
def test_a_selector_that_may_take_too_long_is_refused(selector, page):
    result = scraped({"templates": [{"tags": {"t": [{"css": selector}]}}]}, page)
    assert result.errors == 1 << 36
    assert "may take too long" in result.messages[0]


@pytest.mark.parametrize(
    "selector",
    ["h1", "div.a > p", "meta[property='og:title']", "ul li:nth-child(2) a", "p:not(.a):not(.b)",
     "div:has(> h2) p", "article p:not(aside p)", "h2 + p", "dt ~ dd", "li:last-of-type",
     ":is(h1, h2, h3)", "div:not([class~='x y'], .z)", "section:has(h2.a) a:not(nav a)"],
)  # fmt: skip
def test_ordinary_selectors_are_cheap_on_ordinary_pages(selector):
    assert selector_price(selector, 5_000, 40) < 1


DEAR = [
    "//p[preceding::p]", "//p[following::q]", "//p[count(//p) > 3]", "//p[//p[//q]]",
    "//p[. = //p]",
    "//p[1-preceding::p]", "//p[.5+preceding\n::p]", "//p[2*preceding::p = 1]",
    "//p[../q]", "count(//p/preceding::p)", "(//p/following::q | //q)",
    "//p | //p/following-sibling::q", "//*[count(..//*) = 1]", "//p[@class = //p/@id]",
    "//p[contains(/, 'y')]", "//p[last()]/preceding::p[count(//q) = 1]",
]  # fmt: skip


@pytest.mark.parametrize("target", DEAR)
def test_what_may_take_too_long_is_refused_before_it_runs(target):
    """On twenty thousand elements each of these costs at least the square of that."""
    clock = time.process_time()
    result = scraped({"t": [target]}, FLAT)
    assert result.errors == 1 << 36
    assert "may take too long on a page of 2000" in result.messages[0]
    # A hundred times what it takes; any of these queries would take hours or minutes.
    assert time.process_time() - clock < 20


@pytest.mark.parametrize("target", DEAR)
def test_on_a_small_page_the_same_is_allowed(target):
    result = scraped({"t": [target]})
    assert result.errors == 0, result.messages


ORDINARY = [
    "//h1", "//div[@class='a b']/p", "//div[contains(@class, 'x')]//p[not(ancestor::aside)]",
    "//meta[@property='og:title']/@content", "//div[.//h2[text()='News']]//a[1]/@href",
    "//dt[.='Price']/following-sibling::dd[1]", "//h2/preceding::time[1]/@datetime",
    "normalize-space(//h1)", "(//p)[3]", "//p[position() < 3] | //h1",
    "//article/*[self::p or self::h2]",
    "//p[string-length(.) > 20]", "//a[starts-with(@href, '/x')]/../span", "//li[last()]/a/text()",
    "concat(//h1, ' - ', //h2)", "//div[@id='a']/ancestor::section[1]//time",
    "//img[@width > 100]/@src",
]  # fmt: skip


@pytest.mark.parametrize("target", ORDINARY)
def test_ordinary_rules_are_cheap_on_ordinary_pages(target):
    assert read_expression(target).price(Shape(5_000, 40, 400_000)) < 10


def test_a_hostile_page_does_not_make_an_ordinary_rule_dear():
    """A megabyte of text, 500 deep: what looks at the text of everything in everything."""
    result = scraped({"t": ["//div[.//div[contains(., 'y')]]"]}, DEEP)
    assert "may take too long" in result.messages[0]
    assert scraped({"t": ["//div[contains(., 'y')]"]}, DEEP).errors == 0


def test_axes_around_go_from_one_element_at_a_time():
    """From a few elements of a large page even the dear axes are allowed."""
    page = FLAT.replace(b"<p class=a>x</p>", b"<h2>t</h2><p class=b>found</p>", 1)
    result = scraped({"t": ["//h2/following-sibling::p[1]"], "u": ["//h2/following::p"]}, page)
    assert result.errors == 0, result.messages
    assert result.contents[0]["t"] == result.contents[0]["u"] == "found"


class Ticking(ManualClock):
    """Each look at the clock takes a second."""

    def monotonic(self):
        self.advance(1)
        return super().monotonic()


def test_rules_end_when_the_time_is_over():
    template = json.dumps({f"t{n}": ["//h1"] for n in range(100)})
    result = scrape(b"<h1>x</h1>", "text/html", "", URL, {"template": template}, clock=Ticking())
    assert 5 < result.tags_count < 15
    assert result.errors == 1 << 36
    assert "the time for this page is over" in result.messages[0]


def conditional(pattern, url=URL):
    template = {"tags": {"t": ["//h1"]}, "condition": {"pattern": pattern}}
    properties = {"template": json.dumps({"templates": [template]})}
    return scrape(b"<h1>x</h1>", "text/html", "", url, properties)


@pytest.mark.parametrize("pattern", ["(x", "[", "(?P<n", "x" * 9_000, "a{9999}{9999}"])
def test_a_pattern_that_cannot_be_used_is_an_error_bit(pattern):
    result = conditional(pattern)
    assert result.errors in (1 << 38, 1 << 36)
    assert (result.errors == 1 << 36) == (len(pattern) > 4_096)
    assert result.contents == []


@pytest.mark.parametrize("pattern", ["(a+)+!", "(a|a)*!", "(.*)*=", "(.*a.*){9}=", r"(a*)*\1!"])
def test_a_pattern_that_may_never_end_is_ended(pattern):
    clock = time.process_time()
    result = conditional(pattern, "https://a.example/" + "a" * 2_000)
    assert result.errors in (0, 1 << 38)
    assert result.contents == []
    assert time.process_time() - clock < 10


NAMES = st.sampled_from(
    ["template", "PROCESSOR_NAME", "PROCESSOR_NAME_REPLACE", "PROCESSOR_PROPERTIES", "CONTENT_HASH",
     "PDATE_SOURCES_MASK", "PDATE_SOURCES_MASK_OVERWRITE", "PDATE_TIMEZONES", "PROCESS_CTYPES",
     "PDATE_DAY_MONTH_ORDER", "DEFAULT_METRIC", "SCRAPER_METRICS", "TEMPLATE_SOURCE"]
)  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["", "STORE", "FEED_PARSER", "RSS", "NONE", "WORDS", "0", "255"]),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["templates", "tags", "title", "algorithm", "pattern", "order",
                                 "target", "css", "condition", "words", "zone", "priority"]),
                inner, max_size=3,
            ),
        ),
        max_leaves=8,
    ).map(json.dumps),
)  # fmt: skip


@given(
    st.binary(max_size=400),
    st.sampled_from(["text/html", "application/rss+xml", "image/png", ""]),
    st.sampled_from(["", "utf-8", "latin-1", "nonsense", "utf-16"]),
    st.text(max_size=60),
    st.dictionaries(NAMES, VALUES, max_size=5),
    st.dictionaries(st.sampled_from(["Date", "Last-Modified", "X-pubdateRssFeed"]), st.text()),
)
def test_nothing_makes_it_raise_and_all_of_it_is_json(
    body, kind, charset, url, properties, headers
):
    result = scrape(body, kind, charset, url, properties, headers)
    assert (result.tags_count == 0) == (not result.contents)
    assert all(value for content in result.contents for value in content.values())
    assert bool(result.errors) == bool(result.messages)
    assert msgspec.json.decode(msgspec.json.encode(result.contents)) == result.contents


@given(st.text(alphabet="/[]()|.*@='x1: p-", max_size=40))
def test_reading_an_expression_gives_a_price_or_says_why_not(expression):
    try:
        price = read_expression(expression).price(Shape(100, 10, 1_000))
    except QueryError:
        return
    assert price >= 0


@given(st.text(alphabet="/[]()|.*@='x1: p-ancestor::following", max_size=40))
def test_no_xpath_makes_it_raise(expression):
    problems = Problems()
    assert read_templates(json.dumps({"t": [expression]}), URL, problems).templates
    result = scraped({"t": [expression]})
    assert result.errors in (0, 1 << 36, 1 << 38)


STEPS = st.sampled_from(
    ["/p", "//x", "//p[1]", "/..", "/*", "/@x", "//@x", "/text()", "//text()", "/following::p",
     "/following::*[2]", "/preceding::*", "/preceding-sibling::p[1]", "/following-sibling::*",
     "/ancestor::div", "/ancestor-or-self::*", "/parent::*", "/descendant::p[2]", "[1]", "[@x]",
     "[preceding-sibling::*]", "[.//x]", "/self::p"]
)  # fmt: skip
ENDS = st.sampled_from(["", "", "", " | //x", " = 'x'", " + 1", " and //q", " or //x", " - 1"])


@given(
    st.sampled_from(["//p", "//*", "//div/x", "/*", "//p[2]"]), st.lists(STEPS, max_size=5), ENDS
)
def test_cutting_a_path_does_not_change_what_it_finds(start, steps, end):
    """What the cut path finds is what the library finds for the whole expression, in its order."""
    tree = parse(
        b"<div x=0><p>x</p><p x=1>1<x>a</x></p><x x=2>p<div><p x=3>b</p></div></x></div>"
        b"<section><x><p>c</p><p x=4>d</p></x></section>"
    )
    expression = start + "".join(steps) + end
    query = Query(tree, shape_of(tree, 60), 10, lambda: False)
    try:
        whole = tree.xpath(expression)
    except ValueError:
        with pytest.raises(QueryError):
            query.xpath(expression)
        return
    found = query.xpath(expression)
    if isinstance(whole, bool):
        assert found == ["1"] * whole
    elif isinstance(whole, list):
        elements = [one for one in whole if isinstance(one, Element)]
        # The document itself counts as its text.
        texts = [one if isinstance(one, str) else one.text for one in whole if one not in elements]
        assert [one for one in found if isinstance(one, Element)] == elements
        assert sorted(one for one in found if isinstance(one, str)) == sorted(texts)
