"""What sites may ask of requests: proxies, frequencies, conditions, cookies, files, types."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.objects.file_references import file_name
from gossamer.objects.frequency import limit_for, parse_freq_limits
from gossamer.objects.headers import parse_cookie_rules, parse_header_file
from gossamer.objects.methods import used_method
from gossamer.objects.modified import (
    Behavior,
    Compare,
    Detection,
    Known,
    Seen,
    is_unchanged,
    parse_detection,
)
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.properties import check_properties
from gossamer.objects.proxying import (
    candidates_of,
    is_spoiled,
    is_usable,
    parse_proxy_file,
    parse_user_proxy,
    proxy_url,
    serves,
    single_proxy,
)
from gossamer.objects.site import Property
from gossamer.objects.url import URL, URLUpdate
from gossamer.objects.wishes import Occasion, aliases_of, headers_of, meant_type, types_of

URL_A = "http://example.org/a"


def check(name: str, value: str) -> None:
    check_properties([Property(name=name, value=value)])


# --------------------------------------------------------------------------- proxies


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("proxy.example:8080", "http://proxy.example:8080"),
        ("http://Proxy.Example:8080/", "http://proxy.example:8080"),
        ("10.0.0.1", "http://10.0.0.1:3128"),
        ("[2001:db8::1]:99", "http://[2001:db8::1]:99"),
        ("me:s3cret@p:1", "http://me:s3cret@p:1"),
    ],
)
def test_a_proxy_has_one_spelling(text: str, expected: str) -> None:
    assert proxy_url(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "p:0", "p:65536", "p:1:2", "a b:1", "p/x:1", "p:1\r\nX: y", "-p:1", "http://", "p:1?x"],
)
def test_what_is_no_proxy_is_refused(text: str) -> None:
    with pytest.raises(ObjectError, match="proxy"):
        proxy_url(text)


@pytest.mark.parametrize("text", ["socks5://p:1", "https://p:1", "ftp://p"])
def test_only_http_proxies_are_supported(text: str) -> None:
    with pytest.raises(UnsupportedError, match="http proxies"):
        proxy_url(text)


def test_a_log_in_is_not_shown_in_a_complaint() -> None:
    with pytest.raises(ObjectError) as caught:
        proxy_url("me:s3cret@p:99999999")
    assert "s3cret" not in str(caught.value)


def test_one_proxy_is_named_by_two_properties() -> None:
    assert single_proxy({}) == single_proxy({"HTTP_PROXY_PORT": "1"}) == ""
    both = {"HTTP_PROXY_HOST": "p", "HTTP_PROXY_PORT": "8080"}
    assert single_proxy(both) == "http://p:8080"
    assert single_proxy({**both, "HTTP_PROXY_HOST": "p:1"}) == "http://p:1"
    assert single_proxy({"HTTP_PROXY_HOST": "p"}) == "http://p:3128"


def test_user_proxy_has_the_defaults_of_the_document() -> None:
    wished = parse_user_proxy('{"proxies": {"p:1": {}}}')
    assert (wished.source, wished.tries_count, wished.file_path) == (0, 1, "")
    assert (wished.raw_content_check.rotate, wished.raw_content_check.faults) == (1, 1)
    (candidate,) = candidates_of(wished.proxies)
    assert (candidate.url, candidate.domains, candidate.priority) == ("http://p:1", ("*",), 10)


def test_a_proxy_that_is_switched_off_is_no_candidate() -> None:
    assert candidates_of(parse_proxy_file('{"p:1": {"state": 0}}')) == []


@pytest.mark.parametrize(
    "value",
    [
        {"source": 2},
        {"tries_count": 0},
        {"tries_count": 101},
        {"proxies": {"p:0": {}}},
        {"proxies": {"p:1": {"domains": ["("]}}},
        {"proxies": {"p:1": {"state": 2}}},
        {"proxies": {"p:1": {"limits": {"*": {"max_freq": 0}}}}},
        {"proxies": {"p:1": {"colour": "red"}}},
        {"raw_content_check": {"patterns": ["("]}},
        {"raw_content_check": {"rotate": 2}},
        {"status_update_tries_limit": 0},
        {"status_update_no_available_proxy": 8},
        {"file_path": "../secrets"},
        {"file_path": "/etc/passwd"},
        {"unknown": 1},
        [],
    ],
)
def test_a_user_proxy_that_cannot_be_used_is_refused_by_name(value: object) -> None:
    with pytest.raises(ObjectError, match=r"USER_PROXY|proxy"):
        check("USER_PROXY", json.dumps(value))


def test_domains_are_expressions() -> None:
    assert serves(["*"], "a.example")
    assert serves([r"\.org$", r"^a\."], "a.example")
    assert not serves([r"\.org$"], "a.example")
    assert not serves([], "a.example")
    # What cannot be decided in time lets nothing pass.
    assert not serves([r"^(a+)+$"], "a" * 200 + "!")


def test_the_beginning_of_a_page_shows_that_it_is_spoiled() -> None:
    assert is_spoiled(["captcha", "blocked"], b"<p>You are blocked")
    assert not is_spoiled(["captcha"], b"<p>You are welcome")
    assert not is_spoiled([], b"x")
    assert not is_spoiled(["x"], b"")
    assert not is_spoiled(["late"], b" " * 100_000 + b"late")
    assert is_spoiled([r"^(a+)+$", "!"], b"a" * 200 + b"!")


def test_proxies_that_could_never_be_used() -> None:
    assert is_usable("p:1", ["*", "x"], '{"*": {"max_freq": 1}}')
    assert not is_usable("p:0", [], None)
    assert not is_usable("p:1", ["("], None)
    assert not is_usable("p:1", [], "no json")


# ------------------------------------------------------------------------ frequencies


def test_the_first_limit_that_is_for_a_host_counts() -> None:
    limits = parse_freq_limits('{"^a[.]": {"max_freq": 4, "max_delay": 2}, "*": {"max_freq": 0.5}}')
    first, other = limit_for(limits, "a.example"), limit_for(limits, "b.example")
    assert first is not None
    assert other is not None
    assert (first.gap_seconds, first.max_delay_seconds) == (0.25, 2.0)
    assert (other.gap_seconds, other.max_delay_seconds) == (2.0, 0.0)
    assert limit_for((), "a.example") is None


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"*": 1}', '{"*": {}}', '{"*": {"max_freq": -1}}', '{"(": {"max_freq": 1}}'],
)
def test_limits_that_cannot_be_used_are_refused_by_name(text: str) -> None:
    with pytest.raises(ObjectError, match="HTTP_FREQ_LIMITS"):
        check("HTTP_FREQ_LIMITS", text)


# ------------------------------------------------------------------------- conditions


def test_without_a_wish_requests_are_conditional() -> None:
    assert parse_detection("") == Detection()
    assert Detection().is_on(is_root=True)
    assert not parse_detection('{"mode": 0}').is_on(is_root=False)
    assert parse_detection('{"mode": 2}').is_on(is_root=False)
    assert not parse_detection('{"mode": 2}').is_on(is_root=True)
    assert parse_detection('{"behavior": 3}').behavior == Behavior.UNTOUCHED


@pytest.mark.parametrize(
    "text", ["x", "[]", '{"mode": 3}', '{"algorithm": 4}', '{"compare": 9}', '{"behavior": -1}',
             '{"algorithm": 3, "compare": 2}', '{"modes": 1}'],
)  # fmt: skip
def test_a_detection_that_makes_no_sense_is_refused_by_name(text: str) -> None:
    with pytest.raises(ObjectError, match="DETECT_MODIFIED"):
        check("DETECT_MODIFIED", text)


@given(st.sampled_from(Compare), st.integers(100, 599))
def test_an_answer_without_facts_shows_nothing_but_its_status(
    compare: Compare, status: int
) -> None:
    known = Known("", 0, None)
    assert is_unchanged(Detection(compare=compare), known, Seen(status)) is (status == 304)


# ---------------------------------------------------------------- headers and cookies


def test_a_file_of_user_agents_is_one_header_with_many_values() -> None:
    agents = (("User-Agent", ("One/1 (a: b)", "Two")),)
    assert parse_header_file("One/1 (a: b)\n\n Two \n") == agents
    assert parse_header_file('{"X-A": "b"}') == (("X-A", ("b",)),)
    assert parse_header_file("") == ()
    with pytest.raises(ObjectError, match="HTTP_HEADERS"):
        parse_header_file("a\x00b")


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a/b", ".hidden", "", "a\x00b", "x" * 200])
def test_a_reference_is_the_name_of_a_file_and_no_path(name: str) -> None:
    with pytest.raises(ObjectError, match="HTTP_HEADERS"):
        check("HTTP_HEADERS", f"file:{name}")
    with pytest.raises(ObjectError, match="KIND"):
        file_name("KIND", name)


def test_a_file_that_cannot_be_read_is_as_good_as_no_headers() -> None:
    check("HTTP_HEADERS", "file:agents.txt")
    assert headers_of({"HTTP_HEADERS": "file:agents.txt"}, {}, Occasion(URL_A)) == ()


def test_cookies_without_rules_go_with_every_request_to_the_host() -> None:
    (rule,) = parse_cookie_rules("a=1; b=2")
    assert rule.cookies == (("a", "1"), ("b", "2"))
    assert rule.is_for(URL_A, redirected=True, elsewhere=False)
    assert not rule.is_for(URL_A, redirected=True, elsewhere=True)
    assert parse_cookie_rules("") == ()


def test_a_rule_with_a_pattern_may_name_another_host() -> None:
    (rule,) = parse_cookie_rules('{"^http://example": {"cookie": "a=1", "stage": 2}}')
    assert rule.is_for(URL_A, redirected=True, elsewhere=True)
    assert not rule.is_for(URL_A, redirected=False, elsewhere=False)


@pytest.mark.parametrize(
    "text",
    [
        '{"*": {"cookie": "a=1", "stage": 3}}',
        '{"*": {"stage": 1}}',
        '{"(": {"cookie": "a=1"}}',
        '{"*": {"cookie": "a=1"}, "b": "2"}',
        '{"*": {"cookie": "no cookie"}}',
    ],
)
def test_rules_that_cannot_be_used_are_refused_by_name(text: str) -> None:
    with pytest.raises(ObjectError, match="HTTP_COOKIE"):
        check("HTTP_COOKIE", text)


def test_a_referer_is_sent_only_if_it_is_wanted() -> None:
    assert headers_of({"REFERER_SELF_URL": "0"}, {}, Occasion(URL_A)) == ()
    assert headers_of({"REFERER_SELF_URL": "1"}, {}, Occasion(URL_A)) == (("Referer", URL_A),)
    with pytest.raises(ObjectError, match="REFERER_SELF_URL"):
        check("REFERER_SELF_URL", "2")


# ------------------------------------------------------------------------------ types


def test_types_and_what_is_meant_by_them() -> None:
    assert types_of("Text/HTML, a/b ,") == ("text/html", "a/b")
    assert types_of("text/html, *") == types_of("") == ()
    aliases = aliases_of('{"Application/X-A": "text/html"}')
    assert meant_type("application/x-a", aliases) == "text/html"
    assert meant_type("image/png", aliases) == "image/png"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONTENT_TYPE_MAP", "{"),
        ("CONTENT_TYPE_MAP", '{"a": "text/html"}'),
        ("CONTENT_TYPE_MAP", '{"a/b": 1}'),
        ("MIME_TYPE_STORE_ON_DISK", "html"),
        ("STORE_COOKIES", "yes"),
        ("HTTP_PROXY_HOST", "a b"),
        ("HTTP_PROXY_PORT", "x"),
        ("HTTP_PROXY_PORT", "70000"),
    ],
)
def test_values_that_cannot_be_used_are_refused(name: str, value: str) -> None:
    with pytest.raises(ObjectError):
        check(name, value)


NAMES = (
    "CONTENT_TYPE_MAP", "DETECT_MODIFIED", "HTTP_COOKIE", "HTTP_FREQ_LIMITS", "HTTP_HEADERS",
    "HTTP_PROXY_HOST", "HTTP_PROXY_PORT", "MIME_TYPE_STORE_ON_DISK", "STORE_COOKIES", "USER_PROXY",
)  # fmt: skip
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["*", "proxies", "max_freq", "mode", "p:1", "cookie"]),
            inner,
            max_size=3,
        )
    ),
)


@given(st.sampled_from(NAMES), st.text(max_size=60) | PLAIN.map(json.dumps))
def test_any_value_is_read_or_refused(name: str, value: str) -> None:
    try:
        check(name, value)
    except ObjectError:
        return


# ---------------------------------------------------------------------------- methods


@pytest.mark.parametrize("method", ["post", "PUT", ""])
def test_forms_are_never_sent(method: str) -> None:
    for kind in (URL, URLUpdate):
        with pytest.raises(ValueError, match="forms are never sent"):
            kind(url=URL_A, http_method=method)


def test_a_url_is_asked_for_with_get_or_head() -> None:
    assert [URL(url=URL_A, http_method=each).http_method for each in ("get", "HEAD")]
    assert URLUpdate(url=URL_A).http_method is None


def test_a_method_that_was_kept_before_it_was_checked_can_be_read() -> None:
    assert [used_method(each) for each in ("get", "HEAD", "post")] == ["get", "HEAD", "get"]
