"""Properties that say how URLs are collected: what they mean, and what is refused by name."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.catalog.collecting_rules import Renewal, rules_of
from gossamer.objects.first_fields import ALLOWED, FIELDS_INIT, first_fields_in, parse_first_fields
from gossamer.objects.normalizing import (
    CANONICAL,
    DROP_WWW,
    VALIDATE,
    Rewriting,
    parse_rewriting,
    rewriting_of,
    rewritten,
)
from gossamer.objects.patterns import PatternError
from gossamer.objects.picking import parse_path_sets
from gossamer.objects.problems import ObjectError
from gossamer.objects.properties import check_properties
from gossamer.objects.site import Property
from gossamer.objects.url_limits import (
    PAGE_LIMITS,
    UrlLimit,
    parse_limits,
    within_page_limits,
    within_url_limits,
)

URLS = st.lists(st.sampled_from([f"http://a.example/{name}" for name in "abcdef"]), unique=True)
COUNTS = st.integers(0, 7)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("URL_NORMALIZE", "{"),
        ("URL_NORMALIZE", '{"mask": 8}'),
        ("URL_NORMALIZE", '{"mask": -1}'),
        ("URL_NORMALIZE", '{"other": 1}'),
        ("URL_NORMALIZE", '{"replace": [{"(": ""}]}'),
        ("URL_NORMALIZE", r'{"replace": [{"a": "\\1"}]}'),
        ("URL_NORMALIZE", json.dumps({"replace": [{str(n): "" for n in range(101)}]})),
        ("URL_NORMALIZE", json.dumps({"replace": [{"a": 1}]})),
        ("URL_NORMALIZE_MASK", "8"),
        ("URL_NORMALIZE_MASK", "x"),
        ("URL_NORMALIZE_MASK_PROCESSOR", "-1"),
        ("URLS_FIELDS_INIT", "[]"),
        ("URLS_FIELDS_INIT", '{"nothing": 1}'),
        ("URLS_FIELDS_INIT", '{"url": "http://b.example/"}'),
        ("URLS_FIELDS_INIT", '{"parentMd5": ""}'),
        ("URLS_FIELDS_INIT", '{"siteId": "1"}'),
        ("URLS_FIELDS_INIT", '{"crawled": 1}'),
        ("URLS_FIELDS_INIT", '{"priority": "high"}'),
        ("URLS_FIELDS_INIT", '{"httpTimeout": -1}'),
        ("URLS_FIELDS_INIT", '{"type": 77}'),
        ("URLS_FIELDS_INIT", '{"status": 2}'),
        ("URLS_FIELDS_INIT", '{"pDate": "yesterday"}'),
        ("COLLECT_URLS_LIMITS", "[]"),
        ("COLLECT_URLS_LIMITS", '{"*": 5}'),
        ("COLLECT_URLS_LIMITS", '{"*": {"max_items": -1}}'),
        ("COLLECT_URLS_LIMITS", '{"*": {"most": 1}}'),
        ("COLLECT_URLS_LIMITS", '{"(": {"max_items": 1}}'),
        ("URL_LIMITS", '{"*": {"url_masks": ["["]}}'),
        ("URL_LIMITS", json.dumps({"*": {"url_masks": ["a"] * 101}})),
        ("URL_LIMITS", json.dumps({str(number): {} for number in range(101)})),
        ("COLLECT_URLS_XPATH_LIST", '{"mode": 0}'),
        ("COLLECT_URLS_XPATH_LIST", '{"sets": {"*": []}, "mode": 2}'),
        ("COLLECT_URLS_XPATH_LIST", '{"sets": {"(": ["//a"]}}'),
        ("COLLECT_URLS_XPATH_LIST", '{"sets": {"*": ["//a"]}, "date_format": "%d"}'),
        ("COLLECT_URLS_XPATH_LIST", '{"sets": {"*": [""]}}'),
        ("PROTOCOLS", "http,ftp"),
        ("AUTO_REMOVE_RESOURCES", "many"),
        ("AUTO_REMOVE_RESOURCES", "100001"),
        ("AUTO_REMOVE_RESOURCES", "-1"),
        ("AUTO_REMOVE_WHERE", "Nothing = 1"),
        ("AUTO_REMOVE_WHERE", "1; DROP TABLE urls"),
        ("AUTO_REMOVE_WHERE_ACTIVE", "Status ="),
        ("AUTO_REMOVE_ORDER", "Nothing ASC"),
        ("AUTO_REMOVE_ORDER", "Status UP"),
        ("RECRAWL_URL_UPDATE", "2"),
        ("RECRAWL_URL_UPDATE_STATUS", "3"),
        ("RECRAWL_URL_UPDATE_UDATE", "soon"),
        ("RECRAWL_URL_UPDATE_TCDATE", "Status"),
        ("RECRAWL_URL_UPDATE_CDATE", "NOW("),
        ("RECRAWL_URL_AGE_EXPRESSION", "SLEEP(5)"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ObjectError, match=rf"cannot use Property\.{name}: .+"):
        check_properties([Property(name=name, value=value)])
    # One that came past the check does nothing.
    rules_of({name: value})


@pytest.mark.parametrize(
    "name",
    ["COUNTER_CRIT_RESOURCES", "COUNTER_CRIT_CONTENTS", "COUNTER_CRIT_CLURLS", "COUNTER_CRIT_NURLS",
     "COUNTER_CRIT_DURLS", "COUNTER_CRIT_ERRORS"],
)  # fmt: skip
def test_counters_of_ones_own_are_refused_with_what_to_use_instead(name: str) -> None:
    with pytest.raises(ObjectError, match="with URL_FETCH, or with SQL_CUSTOM"):
        check_properties([Property(name=name, value="Status = 4")])


@given(st.sampled_from(["URL_NORMALIZE", FIELDS_INIT, PAGE_LIMITS, "COLLECT_URLS_XPATH_LIST"]),
       st.text(max_size=60) | st.recursive(
           st.none() | st.integers() | st.text(max_size=8),
           lambda inner: st.lists(inner, max_size=3)
           | st.dictionaries(st.sampled_from(["mask", "replace", "*", "sets", "mode", "max_items",
                                              "priority", "a"]), inner, max_size=3),
           max_leaves=9).map(json.dumps))  # fmt: skip
def test_any_value_is_used_or_refused(name: str, value: str) -> None:
    with suppress(ObjectError):
        check_properties([Property(name=name, value=value)])
    rules_of({name: value})


# ------------------------------------------------------------------------------ rewriting


@pytest.mark.parametrize(
    ("mask", "url", "expected"),
    [
        (DROP_WWW, "http://www.a.example/x", "http://a.example/x"),
        (DROP_WWW, "https://WWW.a.example/x", "https://a.example/x"),
        (DROP_WWW, "http://www.www.a.example/", "http://a.example/"),
        (DROP_WWW, "http://www.1.2/", None),
        (DROP_WWW, "http://www.example/", "http://www.example/"),
        (DROP_WWW, "http://www2.a.example/", "http://www2.a.example/"),
        (DROP_WWW, "http://a.example/http://www.b.example/", "http://a.example/http://www.b.example/"),
        (CANONICAL, "http://www.a.example/x", "http://www.a.example/x"),
        (0, "HTTP://A.example", "http://a.example/"),
        (VALIDATE, "http://a.example/", "http://a.example/"),
        (VALIDATE, "http://a.example:8080/", "http://a.example:8080/"),
        (VALIDATE, "http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        (VALIDATE, "http://intranet/", None),
        (VALIDATE, "http://10.0.0.1/", "http://10.0.0.1/"),
    ],
)  # fmt: skip
def test_what_the_bits_of_a_mask_do(mask: int, url: str, expected: str | None) -> None:
    assert rewritten(url, Rewriting(mask)) == expected


def test_replacements_follow_each_other() -> None:
    mask, pairs = parse_rewriting('{"replace": [{"a": "b", "b": "c"}, {"c+": "d"}]}')
    assert mask is None
    assert rewritten("http://x.test/ab", Rewriting(CANONICAL, pairs)) == "http://x.test/d"


def test_the_mask_of_the_rules_goes_before_that_of_its_own_property() -> None:
    both = {"URL_NORMALIZE": '{"mask": 1}', "URL_NORMALIZE_MASK": "2"}
    assert rewriting_of(both).mask == 1
    assert rewriting_of({"URL_NORMALIZE": "{}", "URL_NORMALIZE_MASK": "2"}).mask == 2
    assert rewriting_of(both | {"URL_NORMALIZE_MASK_PROCESSOR": "4"}, processor=True).mask == 4
    assert rewriting_of(both | {"URL_NORMALIZE_MASK_PROCESSOR": "4"}).mask == 1
    assert rewriting_of({}).is_usual
    assert rewriting_of({"URL_NORMALIZE": "no JSON", "URL_NORMALIZE_MASK": "1"}).is_usual


@given(st.text(max_size=40), st.sampled_from(["", "a", r"\g<0>", "/../"]), st.integers(0, 7))
def test_rewriting_gives_a_canonical_url_or_none(text: str, instead: str, mask: int) -> None:
    rewriting = Rewriting(mask, (("[/?a]", instead),))
    try:
        made = rewritten("http://www." + text, rewriting)
    except PatternError:
        return
    if made is not None:
        assert rewritten(made, Rewriting(mask)) == made


# --------------------------------------------------------------------------------- limits


@given(URLS, COUNTS, COUNTS | st.none())
def test_a_limit_is_a_window_of_what_it_counts(
    urls: list[str], offset: int, most: int | None
) -> None:
    end = None if most is None else offset + most
    limits = (("*", UrlLimit(most, offset)),)
    assert within_page_limits(urls, limits, "http://a.example/", "") == urls[offset:end]
    assert within_url_limits(urls, limits, "") == urls[offset:end]


@given(URLS, COUNTS, COUNTS)
def test_what_a_limit_does_not_count_stays(urls: list[str], offset: int, most: int) -> None:
    limits = (("*", UrlLimit(most, offset, url_masks=("/[abc]$",))),)
    counted = [url for url in urls if url[-1] in "abc"]
    kept = set(counted[offset : offset + most])
    expected = [url for url in urls if url not in counted or url in kept]
    assert within_page_limits(urls, limits, "http://a.example/", "") == expected
    assert within_url_limits(urls, limits, "") == expected


def test_without_limits_all_is_taken() -> None:
    assert parse_limits(" ", PAGE_LIMITS) == ()
    assert within_page_limits(["a"], (), "x", "") == within_url_limits(["a"], (), "") == ["a"]


# ------------------------------------------------------------------------------- the rest


def test_first_fields_have_the_names_of_the_object_or_of_the_table() -> None:
    given = {"priority": 3, "HTTPTimeout": "250", "maxURLsFromPage": 7, "CDate": {"str": "NOW()"}}
    assert parse_first_fields(json.dumps(given)) == {
        "priority": 3, "http_timeout": 250, "max_urls_from_page": 7, "c_date": "NOW()"
    }  # fmt: skip
    assert parse_first_fields("") == {}
    assert parse_first_fields('{"type": null}') == {}
    assert first_fields_in("no JSON") == {}
    assert {"parent_md5", "url_md5", "site_id", "crawled", "batch_id"}.isdisjoint(ALLOWED)


def test_paths_are_those_of_the_first_set_that_means_the_page() -> None:
    sets = parse_path_sets('{"sets": {"/news/": ["//a"], "*": ["//b", "//c"]}, "mode": 1}')
    assert sets is not None
    assert sets.paths_for("http://a.example/news/1") == ("//a",)
    assert sets.paths_for("http://a.example/") == ("//b", "//c")
    assert parse_path_sets("") is None
    slow = parse_path_sets('{"sets": {"(a+)+$": ["//a"], "x": ["//b"]}}')
    assert slow is not None
    assert slow.paths_for("http://x.example/" + "a" * 4_000 + "!") == ("//b",)


def test_rules_that_nobody_asks_for_are_the_usual_ones() -> None:
    assert rules_of({}) is rules_of({"HTTP_HEADERS": "x"})
    assert rules_of({}).renewal == Renewal()
    assert rules_of({"PROTOCOLS": " "}).protocols == {"http", "https"}
