"""Which lines of a robots.txt concern us, and what they allow (RFC 9309, 2.2)."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import least_cpu
from gossamer.urlserver.robots_rules import RuleSet


def allows(text: str | bytes, path: str) -> bool:
    body = text.encode() if isinstance(text, str) else text
    return RuleSet(body, "gossamer").allows(path)


@pytest.mark.req("S1.7")
@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /a", "/a/b", False),
        ("User-agent: *\nDisallow: /a", "/b", True),
        # The rule with the most octets wins, allow wins a tie, order does not matter (2.2.2).
        ("User-agent: *\nDisallow: /a/b\nAllow: /a", "/a/b/c", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        # A group that names us makes the one for everybody void (2.2.1).
        ("User-agent: *\nDisallow: /\n\nUser-agent: gossamer\nDisallow: /x", "/y", True),
        ("User-agent: GOSSAMER/2.0\nDisallow: /x", "/x", False),
        ("User-agent: gossamerbot\nDisallow: /x", "/x", True),
        # All groups that name us are one.
        ("User-agent: gossamer\nDisallow: /x\n\nUser-agent: gossamer\nDisallow: /y", "/y", False),
        ("User-agent: a\nUser-agent: gossamer\nDisallow: /x", "/x", False),
        # Special characters (2.2.3).
        ("User-agent: *\nDisallow: /*.php$", "/a/b.php", False),
        ("User-agent: *\nDisallow: /*.php$", "/a/b.php?x", True),
        ("User-agent: *\nDisallow: *x", "/abx", False),
        ("User-agent: *\nDisallow: /a # comment", "/a", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/index.html", "/a/", True),
        # What sites write.
        ("user agent: *\ndisalow /a", "/a", False),
        ("\ufeffUser-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: *\rDisallow: /a\r", "/a", False),
        ("User-agent: *\r\nDisallow: /a\r\n", "/a", False),
        (b"\xff\xfe\x00\x01binary\x00", "/a", True),
        ("<html><body>404 not found</body></html>", "/a", True),
        ("", "/a", True),
        ("Disallow: /a", "/a", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /a\x00b", "/a", False),
        # Escapes: written as octets or not, they are the same path (2.2.2).
        ("User-agent: *\nDisallow: /caf\u00e9", "/caf%C3%A9", False),
        (b"User-agent: *\nDisallow: /caf\xe9", "/caf%E9", False),
        ("User-agent: *\nDisallow: /%e3%83%84", "/%E3%83%84", False),
        ("User-agent: *\nDisallow: /%aa", "/%aa", False),
        ("User-agent: *\nDisallow: /foo/%62%61%7A", "/foo/baz", False),
        ("User-agent: *\nDisallow: /foo/baz", "/foo/%62%61%7A", False),
        ("User-agent: *\nDisallow: /~joe", "/%7Ejoe", False),
        ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        # An escape is the only way to mean a star or a last dollar sign (2.2.3).
        ("User-agent: *\nDisallow: /with-a-%2A.html", "/with-a-*.html", False),
        ("User-agent: *\nDisallow: /with-a-%2A.html", "/with-a-b.html", True),
        ("User-agent: *\nDisallow: /foo-%24", "/foo-$", False),
        ("User-agent: *\nDisallow: /foo-%24", "/foo-$/bar", False),
        ("User-agent: *\nDisallow: /foo-%24", "/foo-", True),
        ("User-agent: *\nDisallow: /a$b", "/a$b", False),
        ("User-agent: *\nDisallow: /a$b", "/a%24b", False),
        ("User-agent: *\nDisallow: /a*c", "/a*c", False),
        # What URLs have as escapes, people write as it is; and the other way round.
        ("User-agent: *\nDisallow: /a b", "/a%20b", False),
        ("User-agent: *\nDisallow: /*?q={term}", "/x?q=%7Bterm%7D", False),
        ("User-agent: *\nDisallow: /?q='", "/?q=%27", False),
        ("User-agent: *\nDisallow: /%5Bx%5D", "/[x]", False),
        ("User-agent: *\nDisallow: /a%7Cb", "/a|b", False),
    ],
)
def test_rules(text, path, allowed):
    assert allows(text, path) is allowed


patterns = st.text(alphabet="ab/*$?.%7é;# \t", max_size=8).map(lambda text: "/" + text)
keys = st.sampled_from(
    ["Allow", "Disallow", "disalow", "Disallowed", "allow ", "User-agent", "user agent", "Sitemap"]
)
separators = st.sampled_from([": ", ":", " : ", " ", "\t", "", "::", "\v", ":\f"])
agents = st.sampled_from(["*", "* x", "*x", "gossamer", "Gossamer/1", "gossamer bot", "a gossamer"])
lines = st.one_of(
    st.sampled_from(
        [
            "User-agent: *",
            "User-agent: gossamer",
            "User-agent: other",
            "Crawl-delay: 2",
            "Sitemap: http://a/s",
            "",
            "nonsense",
            "Allow: /a/index.html",
        ]
    ),
    st.tuples(st.sampled_from(["Allow", "Disallow"]), patterns).map(": ".join),
    st.tuples(keys, separators, patterns | agents).map("".join),
)
line_ends = st.sampled_from(["\n", "\n", "\r", "\r\n", "\n\r", "\0\n", "\v", "\x85", "\u2028"])


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(lines, line_ends).map("".join), max_size=14),
    st.text(alphabet="ab/?.7;", max_size=8),
)
@example(["User-agent: *\n", "Disallow: /\n", "Allow: /a/index.html\n"], "a/")
@example(["User-agent: *\n", f"Disallow: /{'a' * 16_651}b"], "a" * 16_651)
@example(["User-agent: *\n", f"Disallow: /{'a' * 16_652}b"], "a" * 16_652)
def test_the_verdict_is_that_of_googles_matcher(written, path):
    """Lines with slips, too; where a Python has no package of that matcher, this is skipped."""
    googlebot = pytest.importorskip("jwm.robotstxt.googlebot")
    # Escapes of unreserved characters are read in two ways by us, on purpose.
    body = "".join(written).replace("%7", "7")
    verdict = googlebot.RobotsMatcher().OneAgentAllowedByRobots(
        body, "gossamer", "http://h/" + path
    )
    assert allows(body, "/" + path) is verdict


def test_many_stars_cost_little():
    """A matcher that went back for each star would not end."""
    rules = RuleSet(b"User-agent: *\nDisallow: /" + b"*a" * 4_000 + b"b", "gossamer")
    path = "/" + "a" * 8_000
    assert least_cpu(lambda: rules.allows(path)) < 0.5
    assert rules.allows(path)
    assert not rules.allows(path + "b")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.text(max_size=20))
def test_no_bytes_are_too_strange(body, path):
    rules = RuleSet(b"User-agent: *\n" + body, "gossamer")
    assert rules.allows("/" + path.replace("\udc80", "")) in (True, False)


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("User-agent: *\nCrawl-delay: 2.5", 2.5),
        ("User-agent: *\nCrawl-delay: 9\nUser-agent: gossamer\nCrawl-delay: 1", 1.0),
        ("User-agent: *\nCrawl-delay: 9\nDisallow: /x\nUser-agent: gossamer\nCrawl-delay: 1", 1.0),
        ("User-agent: other\nCrawl-delay: 9", 0.0),
        ("User-agent: *\nCrawl-delay: soon", 0.0),
        ("User-agent: *\nCrawl-delay: -3", 0.0),
        ("User-agent: *\nCrawl-delay: nan", 0.0),
        ("User-agent: *\nCrawl-delay: inf", 0.0),
        ("Crawl-delay: 5", 0.0),
    ],
)
def test_crawl_delay_is_that_of_our_group(text, delay):
    assert RuleSet(text.encode(), "gossamer").crawl_delay == delay


@pytest.mark.parametrize(
    "rule", ["/" + "*a" * 8_000 + "*{}", "/*" + "a" * 3_000 + "{}"], ids=["stars", "one star"]
)
def test_rules_made_to_be_slow_are_judged_like_others(rule):
    """One path must not stop the crawl of all hosts."""
    lines = "".join(f"Disallow: {rule.format(f'b{number}')}\n" for number in range(30))
    rules = RuleSet(f"User-agent: *\n{lines}".encode(), "gossamer")
    path = "/" + "a" * 7_900
    assert least_cpu(lambda: rules.allows(path)) < 0.5
    assert rules.allows(path)
    assert rules.allows("/a/b/c")


def test_sitemaps_belong_to_no_group_and_are_bounded():
    text = "Sitemap: http://a/1\nUser-agent: other\nDisallow: /\nsitemap: /two.xml\n"
    assert RuleSet(text.encode(), "gossamer").sitemaps == ("http://a/1", "/two.xml")
    many = "".join(f"Sitemap: http://a/{number}\n" for number in range(5_000))
    assert len(RuleSet(many.encode(), "gossamer").sitemaps) == 1_000
