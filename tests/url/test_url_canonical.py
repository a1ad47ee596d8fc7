"""The canonical form of a URL."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.url import UrlSettings
from gossamer.errors import InputError
from gossamer.url.canonical import canonicalize, parse_start_url

PIECES = st.sampled_from(
    [
        *"htps:/\\?#@[]%.&= \t\n\r\0|^`{}<>\"'é。1",
        "http://",
        "HTTPS://",
        "//",
        "example.org",
        "EXAMPLE.org.",
        "user:pass@",
        "%2e%2E",
        "%41",
        "%7e",
        "%%32e",
        "%c3%a9",
        "../",
        "./",
        ":80",
        ":443",
        ":8080",
        "a=1&b=2",
        "utm_source=x",
        "\ud800",
        "[::1]",
        "0x7f.1",
        "mailto:",
        "javascript:",
    ]
)
URL_LIKE = st.builds(
    lambda head, pieces: head + "".join(pieces),
    st.sampled_from(["", "http://h/", "https://h:8443/", "http://"]),
    st.lists(PIECES, max_size=12),
)
ANY_TEXT = st.one_of(URL_LIKE, st.text(max_size=60))
SETTINGS = st.sampled_from(
    [
        UrlSettings(),
        UrlSettings(sort_query=True),
        UrlSettings(drop_parameters=("tracking", "a")),
        UrlSettings(sort_query=True, drop_parameters=("utm_*",)),
    ]
)
WEB_CHARACTERS = frozenset(string.printable) - frozenset(string.whitespace)


@given(ANY_TEXT, SETTINGS)
def test_canonical_form_is_its_own_canonical_form(text, settings):
    url = canonicalize(text, settings)
    assert url is None or canonicalize(url, settings) == url


@given(
    st.from_regex(
        r"https?://([a-z0-9-]{1,6}\.){1,3}[a-z]{2,4}(/[A-Za-z0-9_~,;=+()./-]{0,20})?"
        r"(\?[a-z0-9=&./]{0,9})?",
        fullmatch=True,
    ),
    SETTINGS,
)
def test_a_url_of_plain_characters_is_what_the_standard_makes_of_it(text, settings):
    """Most URLs are told to be canonical at sight. With a fragment, the parser is always asked."""
    assert canonicalize(text, settings) == canonicalize(text + "#fragment", settings)


@pytest.mark.req("S1.31")
@given(ANY_TEXT)
def test_canonical_url_fits_on_an_ascii_line(text):
    """Whatever a page contains, a URL has no space, control or non-ASCII character."""
    url = canonicalize(text)
    if url is not None:
        assert set(url) <= WEB_CHARACTERS
        assert url.startswith(("http://", "https://"))
        assert "#" not in url


@given(ANY_TEXT)
def test_canonical_url_carries_no_user_and_has_a_path(text):
    url = canonicalize(text)
    if url is not None:
        authority, slash, _ = url.partition("://")[2].partition("/")
        assert slash
        assert authority
        assert "@" not in authority


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTP://EXAMPLE.org:80/A/b#top", "http://example.org/A/b"),
        ("https://example.org:443", "https://example.org/"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://user:secret@example.org/x", "http://example.org/x"),
        ("http://a@b@example.org/x@y", "http://example.org/x@y"),
        ("http://example.org./x", "http://example.org/x"),
        ("http://example.org.:8080/x", "http://example.org:8080/x"),
        ("http://example.org/a/../b/./c", "http://example.org/b/c"),
        ("http://example.org/%7euser/%c3%a9%2F", "http://example.org/~user/%C3%A9%2F"),
        ("http://example.org/é ü?ä=ö", "http://example.org/%C3%A9%20%C3%BC?%C3%A4=%C3%B6"),
        (" \t http://exa\nmple.org/\tx \n", "http://example.org/x"),
        ("http:\\\\example.org\\x", "http://example.org/x"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://example.org/?", "http://example.org/?"),
        ("http://example.org/a #top", "http://example.org/a%20"),
        ("http://example.org/a ", "http://example.org/a"),
        ("http://example.org/?b=2&a=1&", "http://example.org/?b=2&a=1&"),
        ("http://example.org/x?y?z/@", "http://example.org/x?y?z/@"),
        ("http://[2001:DB8::0001]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://example.org/\ud800", "http://example.org/%EF%BF%BD"),
    ],
)
def test_canonical_form_of(text, url):
    assert canonicalize(text) == url


def test_case_of_a_path_and_the_query_are_kept():
    assert canonicalize("http://h/Foo?Q=B") != canonicalize("http://h/foo?q=b")
    assert canonicalize("http://h/x?a") != canonicalize("http://h/x")


def test_escapes_beside_a_stray_percent_sign_stay():
    """Decoding the 2 of %%32e would make %2e, another URL."""
    assert canonicalize("http://h/%%32e") == "http://h/%%32e"
    assert canonicalize("http://h/%252e") == "http://h/%252e"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "/x",
        "?x",
        "#x",
        "http://",
        "http://a b/",
        "http://example.org:99999/",
        "http://[fe80::1%25eth0]/",
        "http://[::1",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "mailto:a@example.org",
        "view-source:http://example.org/",
        "ws://example.org/",
    ],
)
def test_what_is_not_for_the_web_has_no_canonical_form(text):
    assert canonicalize(text) is None


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://\uff11\uff12\uff17.0.0.1/", "127.0.0.1"),
        ("http://127。0。0。1/", "127.0.0.1"),
        ("http://①②⑦.0.0.1/", "127.0.0.1"),
        ("http://%31%32%37.0.0.1/", "127.0.0.1"),
        ("http://127.0.0.1./", "127.0.0.1"),
        ("http://example.org@127.0.0.1/", "127.0.0.1"),
        ("http://example.org\\@127.0.0.1/", "example.org"),
        ("http://127.0.\t0.1\n/", "127.0.0.1"),
        ("http://[::ffff:127.0.0.1]/", "[::ffff:7f00:1]"),
        ("http://[0:0:0:0:0:0:0:1]/", "[::1]"),
    ],
)
def test_every_spelling_of_an_address_becomes_one(text, host):
    assert canonicalize(text) == f"http://{host}/" + ("@127.0.0.1/" if "\\" in text else "")


def test_length_is_measured_on_the_canonical_url():
    settings = UrlSettings(max_bytes=256)
    exact = "http://h/" + "x" * 247
    assert canonicalize(exact, settings) == exact
    assert canonicalize(exact + "x", settings) is None
    assert canonicalize("http://h/" + "é" * 50, settings) is None
    assert canonicalize(exact + "#" + "f" * 100_000, settings) == exact
    assert canonicalize("http://h/" + "a/../" * 60 + "x", settings) == "http://h/x"
    assert canonicalize("http://h/" + "x" * 10_000_000, settings) is None


def test_sorting_is_by_name_and_stable():
    settings = UrlSettings(sort_query=True)
    assert canonicalize("http://h/?b=2&a=9&b=1&&a", settings) == "http://h/?a=9&a&b=2&b=1"
    assert canonicalize("http://h/?", settings) == "http://h/?"


@given(st.permutations(["a=1", "b=2", "c", "d=%20", "e="]))
def test_order_of_sorted_parameters_does_not_matter(parameters):
    settings = UrlSettings(sort_query=True)
    assert canonicalize("http://h/?" + "&".join(parameters), settings) == (
        "http://h/?a=1&b=2&c&d=%20&e="
    )


def test_named_parameters_are_dropped():
    settings = UrlSettings(drop_parameters=("tracking", "sid", "x_*"))
    tracked = "http://h/p?utm_source=a&id=7&fbclid=b&sid=1&x_=2&x_y&sidney=3&gclid=4"
    assert canonicalize(tracked, settings) == "http://h/p?id=7&sidney=3"
    assert canonicalize("http://h/p?utm_medium=a", settings) == "http://h/p"
    assert canonicalize(tracked) == tracked


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.org", "http://example.org/"),
        (" example.org/x?y#z ", "http://example.org/x?y"),
        ("//example.org/x", "http://example.org/x"),
        ("localhost:8000/x", "http://localhost:8000/x"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/"),
        ("[::1]:8000/", "http://[::1]:8000/"),
        ("HTTPS://Example.org", "https://example.org/"),
        ("example.org/a:b@c", "http://example.org/a:b@c"),
    ],
)
def test_start_url_as_typed(typed, url):
    assert parse_start_url(typed, UrlSettings()) == url


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("ftp://example.org/", "'ftp' is not crawled"),
        ("file:///etc/passwd", "'file' is not crawled"),
        ("mailto:me", "'mailto' is not crawled"),
        ("http://", "no valid host name"),
        ("http://exa mple/", "no valid host name"),
        ("example.org:99999/", "no valid host name"),
        ("http://h/" + "x" * 9_000, "longer than 8192 bytes"),
        ("http://me:secret@example.org/", "never sent"),
        ("me:secret@example.org/", "'me' is not crawled"),
        ("https://me:secret@exa mple.org/", "no valid host name"),
    ],
)
def test_start_url_that_cannot_be_used_is_explained(typed, said):
    """The message says what was tried, on what, and what to do, and never shows a password."""
    with pytest.raises(InputError) as caught:
        parse_start_url(typed, UrlSettings())
    message = str(caught.value)
    assert message.startswith("cannot use")
    assert said in message
    assert "secret" not in message
    assert "\n" not in message
    assert len(message) < 500


@given(ANY_TEXT)
def test_start_url_is_canonical_or_explained(text):
    try:
        url = parse_start_url(text)
    except InputError:
        return
    assert canonicalize(url) == url


@pytest.mark.parametrize("typed", ["ht!tp://x", "://x", "1http://x/", "ht tp://x/"])
def test_a_broken_scheme_is_no_host(typed):
    """A slip of the keys ends in a message, not in a crawl of a host that nobody meant."""
    with pytest.raises(InputError, match="no scheme"):
        parse_start_url(typed)
