"""Families of URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.url.canonical import canonicalize
from gossamer.url.families import family_of, family_of_url, split_family


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/", "/"),
        ("/about", "/*"),
        ("/about.html", "/*.html"),
        ("/about/", "/*/"),
        ("/maze/3f2a9b1c.html", "/maze/*.html"),
        ("/maze/word-and-word.html", "/maze/*.html"),
        ("/s12/p17.html", "/s{n}/*.html"),
        ("/events/2024/05", "/events/{n}/*"),
        ("/events/2024/05/17", "/events/{date}/*"),
        ("/article/17", "/article/*"),
        ("/v1.2/notes", "/v{n}.{n}/*"),
        ("/a/b/c/", "/a/b/*/"),
        ("/data/2024/001/00/", "/data/{n}/{n}/*/"),
        ("/deep/1/2/3/4/5/", "/deep/{folders}/*/"),
        ("/deep/1/2/3/4/5/6/7/", "/deep/{folders}/*/"),
        ("/item?id=5", "/item?id"),
        ("/item?id=x", "/item?id"),
        ("/7/item?id=5&view=full", "/{n}/item?*"),
    ],
)
def test_family(path, family):
    assert family_of("h", "http://h" + path) == "h" + family
    assert family_of_url("http://h" + path) == "h" + family
    assert split_family("h" + family) == ("h", family)


@given(st.text(alphabet="ab01/-.%?&=;", max_size=40))
def test_every_url_has_a_family_that_can_be_split(text):
    url = canonicalize("http://h:81/" + text)
    assert url is not None
    assert split_family(family_of("::1", url))[0] == "::1"


def test_families_of_long_urls_are_short_and_differ():
    one, other = ("http://h/" + "x" * 5_000 + ending + "/a" for ending in "yz")
    assert family_of("h", one) != family_of("h", other)
    assert len(family_of("h", one)) < 300
