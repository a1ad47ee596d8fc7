"""The form of URLs that is only for comparison (requirements 5b.3, item 6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.url.lossy import is_home_page, lossy

PLAIN = "http://example.com/a/b?x=1"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/a/b?x=1",
        "https://example.com/a/b?x=1",
        " https://www.example.com/a/b?x=1\n",
        "HTTPS://WWW2.Example.COM/A/B?X=1",
        "http://m.example.com/a/b?x=1",
        "http://beta.blog.news.example.com/a/b?x=1",
        "http://example.com:8080/a/b?x=1",
        "https://user:secret@example.com:443/a/b?x=1#part",
        "http://example.com//a///b?x=1",
        "http:\\\\example.com\\a\\b?x=1",
        "http://http://example.com/a/b?x=1",
        "http://https://www.example.com/a/b?x=1",
        "http:/example.com/a/b?x=1",
        "http//example.com/a/b?x=1",
        "ttp://example.com/a/b?x=1",
        "//example.com/a/b?x=1",
        "http://example.com/%61/b?x=1",
        "http://example.com/a/c/../b?x=1",
        "http://example.com/a/b?utm_source=rss&x=1&fbclid=7",
        "http://example.com/a/b?x=1&ns_campaign=z&smid=tw",
        "http://example.com/a/b?%75tm_id=1&x=1",
        "http://example.com/a/b?utm_id=%&%78=1",
        "http://example.com./a/b?x=1",
    ],
)
def test_variants_are_equal(url):
    assert lossy(url) == PLAIN


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("https://example.com", "http://example.com/"),
        ("http://example.com?x=1", "http://example.com/?x=1"),
        ("http://example.com/a?utm_source=x", "http://example.com/a"),
        ("http://example.com/a?", "http://example.com/a"),
        ("http://www.news.com/a", "http://news.com/a"),
        ("http://news.co.uk/a", "http://news.co.uk/a"),
        ("http://m.co.uk/a", "http://m.co.uk/a"),
        ("http://www.bbc.co.uk/News", "http://bbc.co.uk/news"),
        ("http://newsroom.example.com/a", "http://newsroom.example.com/a"),
        ("http://[::1]:8080/a", "http://[::1]/a"),
        ("http://192.0.2.1:80/a", "http://192.0.2.1/a"),
        ("http://example.com/caf\u00e9", "http://example.com/caf%c3%a9"),
        (" Tag:example.com,2026:1 ", "tag:example.com,2026:1"),
        ("12345", "12345"),
        ("", ""),
        ("http://", "http://"),
    ],
)
def test_form(url, form):
    assert lossy(url) == form


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("http://example.com/a", "http://example.com/b"),
        ("http://example.com/a", "http://example.org/a"),
        ("http://example.com/a?id=1", "http://example.com/a?id=2"),
        ("http://one.example.com/a", "http://two.example.com/a"),
    ],
)
def test_different_stories_stay_different(first, second):
    assert lossy(first) != lossy(second)


URLS = st.from_regex(
    r"(https?://|http:/|//|ttps://)?(www\.|m\.|news\.)?[a-z]{1,6}\.(com|co\.uk|org)(:\d{1,4})?"
    r"(/[a-zA-Z0-9%./~ -]{0,12})?(\?[a-z_=&%0-9]{0,16})?(#x)?",
    fullmatch=True,
)


@given(st.text() | URLS)
def test_the_form_is_its_own_form(text):
    form = lossy(text)
    assert lossy(form) == form


@given(st.from_regex(r"[a-z]{3,9}\.(com|org|co\.uk)/[a-z0-9/]{0,20}", fullmatch=True))
def test_schemes_and_www_make_no_difference(rest):
    forms = {
        lossy(start + rest) for start in ("http://", "https://", "http://www.", "https://www.")
    }
    assert len(forms) == 1


@pytest.mark.parametrize(
    ("url", "is_home"),
    [
        ("http://example.com", True),
        ("https://www.example.com/", True),
        (" http://example.com/#top ", True),
        ("http://example.com:8080/index.html", True),
        ("http://example.com/Default.aspx", True),
        ("http://example.com/?p=1", False),
        ("http://example.com/index.php?p=1", False),
        ("http://example.com/story", False),
        ("http://example.com/index-of-prices.html", False),
        ("urn:uuid:1", False),
        ("example.com", False),
        ("", False),
    ],
)
def test_home_page(url, is_home):
    assert is_home_page(url) is is_home


@given(st.text())
def test_home_page_never_raises(text):
    assert is_home_page(text) in (True, False)
