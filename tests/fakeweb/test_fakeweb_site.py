"""What is answered, without a network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fakeweb.graph import Graph
from gossamer.fakeweb.hosts import Hosts
from gossamer.fakeweb.oddities import table
from gossamer.fakeweb.options import ROBOTS_VARIANTS, Options
from gossamer.fakeweb.reply import Asked, Reply
from gossamer.fakeweb.site import Site

PORT = 8080
LATIN = st.text(st.characters(max_codepoint=255), max_size=30)
STARTS = st.sampled_from(
    ["/", "/s0/", "/private/", "/r/", "/img/", "/~/trap/calendar/", "/~/status/", "/~/robots-hop/"]
    + [path for path, _, _ in table()]
)


def site(**options):
    chosen = Options(**options)
    return Site(Graph(chosen, Hosts(chosen, PORT)))


SITE = site(sitemap_pages=3)


def ask(target, host="127.16.0.1:8080", head=b""):
    return SITE.answer(Asked("GET", target, host, head))


@given(STARTS, LATIN, LATIN)
def test_every_request_has_an_answer(start, rest, host):
    """A path made up by a broken crawler never stops the server."""
    for target in (start + rest, start + "?" + rest, start.rpartition("/")[0] + "/" + rest):
        for authority in ("127.16.0.1:8080", host):
            answer = SITE.answer(Asked("GET", target, authority, b""))
            assert callable(answer) or (isinstance(answer, Reply) and 100 <= answer.status <= 999)


@pytest.mark.parametrize("label", ["idna", "undefined", "hex", "utf-16", "punycode", "x" * 40])
def test_every_charset_label_has_an_answer(label):
    assert ask(f"/~/charset/{label}").body


@pytest.mark.parametrize("variant", list(ROBOTS_VARIANTS))
def test_every_robots_variant_has_an_answer(variant):
    answer = site(robots={-1: variant}).answer(Asked("GET", "/robots.txt", "127.16.0.1:8080", b""))
    assert callable(answer) or isinstance(answer, Reply)


def test_headers_are_found_whatever_their_place_and_blanks():
    asked = Asked("GET", "/", "a", b"get / http/1.1\r\nhost:a\r\nif-none-match:  x \r\n")
    assert (asked.header("host"), asked.header("if-none-match")) == ("a", "x")
    assert asked.header("cookie") == ""
