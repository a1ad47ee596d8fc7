"""Where redirects lead, and where they do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.spider import SpiderSettings
from gossamer.outcomes import Outcome
from gossamer.spider.redirect import end_of_loop, is_redirect, redirect

SETTINGS = SpiderSettings(max_redirects=3)
HERE = "http://a.example/dir/page?q"


def follow(location: str, via: tuple[str, ...] = ()) -> tuple[Outcome, str | None]:
    return redirect(302, (("location", location),), HERE, via, SETTINGS)[:2]


@pytest.mark.req("S0.28")
@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/x", "http://a.example/x"),
        ("x", "http://a.example/dir/x"),
        ("?r", "http://a.example/dir/page?r"),
        ("//b.example", "http://b.example/"),
        ("https://B.example:443/y#z", "https://b.example/y"),
        (" /x\t", "http://a.example/x"),
        ("https://user:word@b.example/", "https://b.example/"),
        ("/caf\xc3\xa9", "http://a.example/caf%C3%A9"),
        ("/a b", "http://a.example/a%20b"),
    ],
)
def test_targets_are_absolute_and_canonical(location: str, target: str) -> None:
    assert follow(location) == (Outcome.OK, target)


@pytest.mark.parametrize(
    ("location", "outcome"),
    [
        ("", Outcome.REDIR_NONE),
        ("   ", Outcome.REDIR_NONE),
        ("http://[::", Outcome.REDIR_BAD),
        ("http://exa mple/", Outcome.REDIR_BAD),
        ("/" + "x" * 9_000, Outcome.REDIR_BAD),
        ("/" + "é" * 4_000, Outcome.REDIR_BAD),
        ("file:///etc/passwd", Outcome.REDIR_SCHEME),
        ("javascript:alert(1)", Outcome.REDIR_SCHEME),
        ("ftp://a.example/", Outcome.REDIR_SCHEME),
        ("view-source:http://a.example/", Outcome.REDIR_SCHEME),
        (HERE, Outcome.REDIR_LOOP),
        ("#part", Outcome.REDIR_LOOP),
    ],
)
def test_redirects_that_lead_nowhere(location: str, outcome: Outcome) -> None:
    assert follow(location) == (outcome, None)


@pytest.mark.req("S0.6", "S0.29")
def test_a_chain_ends_at_its_limit_or_where_it_repeats() -> None:
    via = ("http://a.example/1", "http://a.example/2")
    assert follow("/3", via)[0] is Outcome.OK
    assert follow("/1", via)[0] is Outcome.REDIR_LOOP
    assert follow("/4", (*via, "http://a.example/3"))[0] is Outcome.REDIR_TOO_MANY


def test_the_detail_of_a_loop_says_where_it_closes() -> None:
    headers = [("location", "/1")]
    via = ("http://a.example/1", "http://a.example/2")
    outcome, target, detail = redirect(302, headers, HERE, via, SpiderSettings())
    assert (outcome, target) == (Outcome.REDIR_LOOP, None)
    assert end_of_loop(detail) == "http://a.example/1"
    assert end_of_loop("302 without Location") is None
    assert end_of_loop("") is None


def test_two_places_are_none_but_the_same_twice_is_one() -> None:
    both = (("location", "/a"), ("location", "/b"))
    assert redirect(301, both, HERE, (), SETTINGS)[0] is Outcome.REDIR_BAD
    same = (("location", "/a"), ("location", "/a"))
    assert redirect(301, same, HERE, (), SETTINGS)[0] is Outcome.OK


@pytest.mark.req("S0.26", "S0.27")
@pytest.mark.parametrize("status", range(100, 1000))
def test_which_statuses_redirect(status: int) -> None:
    """300 and unknown 3xx codes only if they name a place; 304, 305 and 306 never."""
    certain = status in (301, 302, 303, 307, 308)
    possible = 300 <= status < 400 and status not in (304, 305, 306)
    assert is_redirect(status, ()) == certain
    assert is_redirect(status, ("/x",)) == possible


@given(st.text(max_size=100))
def test_any_location_has_an_answer(location: str) -> None:
    outcome, target = follow(location)
    assert (target is not None) == (outcome is Outcome.OK)
    if target is not None:
        assert target.startswith(("http://", "https://"))
