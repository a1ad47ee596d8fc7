import pytest

from gossamer.messages import Manner
from gossamer.outcomes import Outcome
from gossamer.parse.directives import Refresh, refresh_in, robots_in_headers

BASE = "http://site.example/dir/"


def test_title_is_folded_and_limited(page_of):
    assert page_of("<title> A \n &amp;\t B </title>").title == "A & B"
    assert len(page_of(f"<title>{'x' * 9_000}</title>").title) == 512
    assert page_of("<svg><title>no</title></svg><p>").title == ""


def test_canonical_is_link_and_field(page_of):
    page = page_of("<link rel=CANONICAL href=/real><link rel=canonical href=/second>")
    assert page.canonical == "http://site.example/real"
    assert page_of("<p>").canonical is None


# --- nofollow, noindex ---------------------------------------------------------------------------


def test_nofollow_link_is_marked(page_of):
    page = page_of("<a href=x rel='external NoFollow'>t</a><a href=y rel=ugc>t</a>")
    assert {link.url: link.nofollow for link in page.links} == {BASE + "x": True, BASE + "y": False}


@pytest.mark.parametrize(
    "markup",
    [
        "<a href=x rel=nofollow>t</a><a href=x>t</a>",
        "<a href=x>t</a><a href=x rel=nofollow>t</a>",
        "<a href=x#a rel=nofollow>t</a><a href=./x>t</a>",
        "<a href=./x rel=nofollow>t</a><a href=x>t</a>",
    ],
)
def test_one_followed_place_is_enough(page_of, markup):
    """A URL that one place allows to follow is followed, whatever another place says."""
    assert [(link.url, link.nofollow) for link in page_of(markup).links] == [(BASE + "x", False)]


def test_area_and_svg_links_can_be_nofollow(page_of):
    page = page_of("<area href=x rel=nofollow><svg><a xlink:href=y rel=nofollow>t</a></svg>")
    assert all(link.nofollow for link in page.links)
    assert len(page.links) == 2


@pytest.mark.parametrize(
    ("markup", "nofollow", "noindex"),
    [
        ("<meta name=robots content=nofollow>", True, False),
        ("<meta name=ROBOTS content='NOINDEX, follow'>", False, True),
        ("<meta name=robots content=none>", True, True),
        ("<meta name=gossamer content='noindex,nofollow'>", True, True),
        ("<meta name=googlebot content=none>", False, False),
        ("<meta name=robots content=all>", False, False),
        ("<meta name=robots content=noindex><meta name=robots content=nofollow>", True, True),
        ("<meta name=robots>", False, False),
        ("<meta name=robots content='noindex nofollow'>", True, True),
        ("<meta name=robots content='index; nofollow'>", True, False),
        ("<meta name=robots content='max-image-preview: none'>", False, False),
    ],
)
def test_robots_meta(page_of, markup, nofollow, noindex):
    page = page_of(markup + "<a href=x>t</a>")
    assert (page.nofollow, page.noindex) == (nofollow, noindex)


@pytest.mark.parametrize(
    ("values", "nofollow", "noindex"),
    [
        (["noindex"], False, True),
        (["NoFollow"], True, False),
        (["none"], True, True),
        (["gossamer: nofollow, noindex"], True, True),
        (["otherbot: noindex, nofollow"], False, False),
        (["otherbot: noindex, gossamer: nofollow"], True, False),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], False, True),
        (["unavailable_after: Wed, 03 Dec 2025 13:00:00 PST, nofollow"], True, False),
        (["otherbot: unavailable_after: Wed, 03-Dec-25 13:00:00 PST, none"], False, False),
        (["max-snippet: 20, nofollow"], True, False),
        (["max-image-preview: none, noindex nofollow"], True, True),
        (["otherbot: noindex", "nofollow"], True, False),
        ([""], False, False),
    ],
)
def test_robots_header(values, nofollow, noindex):
    headers = [("x-robots-tag", value) for value in values]
    assert robots_in_headers(headers) == (nofollow, noindex)


@pytest.mark.parametrize(
    ("markup", "nofollow"),
    [
        ("<meta name=examplebot content=nofollow>", True),
        ("<meta content=none name=ExampleBot>", True),
        ("<meta name=robots content=nofollow>", True),
        ("<meta name=gossamer content=nofollow>", True),
        ("<meta name=examplebot-images content=nofollow>", False),
        ("<meta name=otherbot content=nofollow>", False),
        ("<meta property=examplebot content=nofollow>", False),
        ("<template></template><meta name=EXAMPLEBOT content=nofollow>", True),
    ],
)
def test_a_page_is_heard_by_the_name_that_we_go_by(page_of, markup, nofollow):
    """By that of all crawls, and by that of the order, in the tree and in the compiled reader."""
    for _ in range(2):
        assert page_of(markup, agent="ExampleBot").nofollow is nofollow
        assert page_of(markup, manner=Manner(agent="examplebot")).nofollow is nofollow
        # What it says to one robot is not remembered for another.
        assert page_of(markup).nofollow is (nofollow and "example" not in markup.lower())


@pytest.mark.parametrize(
    ("value", "nofollow"),
    [
        ("examplebot: nofollow", True),
        ("ExampleBot:none", True),
        ("otherbot: noindex, examplebot: nofollow", True),
        ("examplebot: noindex, otherbot: nofollow", False),
        ("robots: nofollow", True),
        ("otherbot: nofollow", False),
    ],
)
def test_a_header_is_heard_by_the_name_that_we_go_by(page_of, value, nofollow):
    headers = (("x-robots-tag", value),)
    assert page_of("x", agent="ExampleBot", headers=headers).nofollow is nofollow
    assert page_of("x", manner=Manner(agent="examplebot"), headers=headers).nofollow is nofollow
    assert page_of("x", headers=headers).nofollow is (nofollow and "robots" in value)


def test_who_is_called_description_leaves_descriptions_as_they_are(page_of):
    page = page_of("<meta name=description content=nofollow>", agent="description")
    assert (page.description, page.nofollow) == ("nofollow", False)


@pytest.mark.parametrize(
    "markup",
    [
        "<template><base href=/no/></template>",
        "<template><div><p><base href=/no/></div></template>",
        "<template><template><base href=/no/></template></template>",
        "<template shadowrootmode=open><base href=/no/></template>",
        "<svg><base href=/no/></svg>",
        "<svg><g><base href=/no/></g></svg>",
        "<math><base href=/no/></math>",
        "<base><base target=x>",
    ],
)
def test_a_base_that_is_not_at_work_is_passed_over(page_of, markup):
    url = page_of(f"{markup}<a href=x>x</a>").links[0].url
    assert url == "http://site.example/dir/x"
    url = page_of(f"{markup}<base href=/yes/><a href=x>x</a>").links[0].url
    assert url == "http://site.example/yes/x"


@pytest.mark.parametrize("inside", ["<svg><foreignObject>", "<svg><desc>", "<div><p>"])
def test_a_base_of_html_counts_wherever_it_is(page_of, inside):
    page = page_of(f"{inside}<base href=/yes/></svg><a href=x>x</a>")
    assert page.links[0].url == "http://site.example/yes/x"


def test_a_refresh_in_a_template_sends_nobody_on(page_of):
    markup = "<meta http-equiv=refresh content='0;url=/there'>"
    page = page_of(f"<template><div>{markup}</div></template>")
    assert page.refresh is None
    assert [(link.kind, link.url) for link in page.links] == [
        ("refresh", "http://site.example/there")
    ]
    # One such element ends a drawing, so that it is outside.
    for before in ("", "<svg>", "<template></template>"):
        assert page_of(before + markup).refresh == "http://site.example/there"


def test_a_title_in_a_template_is_none(page_of):
    assert page_of("<template><title>no</title></template><title>yes</title>").title == "yes"


def test_robots_header_counts_for_every_type(page_of):
    page = page_of(b"%PDF-1.4", "application/pdf", headers=(("x-robots-tag", "none"),))
    assert page.noindex
    assert page.nofollow


def test_nofollow_can_be_set_aside(page_of):
    markup = "<meta name=robots content=none><a href=x rel=nofollow><area href=y rel=nofollow>"
    page = page_of(markup, headers=(("x-robots-tag", "nofollow"),), obey_robots_meta=False)
    assert not page.nofollow
    assert page.noindex
    assert len(page.links) == 2
    assert not any(link.nofollow for link in page.links)


# --- refresh -------------------------------------------------------------------------------------


@pytest.mark.req("S4.23")
@pytest.mark.parametrize(
    "content", ["0;url=x", "10; URL = 'x'", "3,x", "0 x", '5;url="x" y', ".5;x"]
)
def test_quick_refresh_is_a_redirect(page_of, content):
    page = page_of(f'<meta http-equiv=Refresh content="{content.replace(chr(34), "&quot;")}">')
    assert page.refresh == BASE + "x"
    assert page.links == ()


@pytest.mark.req("S4.23")
def test_refresh_header_is_a_redirect(page_of):
    assert page_of("<p>", headers=(("refresh", "0; url=/x"),)).refresh == "http://site.example/x"


@pytest.mark.parametrize("name", ["caf\xc3\xa9", "caf\xe9"])
def test_refresh_header_may_be_raw_utf_8_or_latin_1(page_of, name):
    """As browsers read a Location: UTF-8 if it is that."""
    page = page_of("<p>", headers=(("refresh", f"0; url=/{name}"),))
    assert page.refresh == "http://site.example/caf%C3%A9"
    late = page_of("<p>", headers=(("refresh", f"60; url=/{name}"),))
    assert [link.url for link in late.links] == ["http://site.example/caf%C3%A9"]


@pytest.mark.parametrize("content", ["", "x", "5", "5;", "0;url=", "url=x", "-1;url=x", "0;url=''"])
def test_refresh_without_target_is_none(page_of, content):
    page = page_of(f'<meta http-equiv=refresh content="{content}">')
    assert page.refresh is None
    assert page.links == ()


def test_slow_refresh_is_a_link(page_of):
    page = page_of("<meta http-equiv=refresh content='11;url=x'>")
    assert page.refresh is None
    assert [(link.url, link.kind) for link in page.links] == [(BASE + "x", "refresh")]


def test_reload_of_the_page_itself_is_no_redirect(page_of):
    assert page_of("<meta http-equiv=refresh content='5;url=page.html#x'>").refresh is None


def test_refresh_of_many_digits_is_late():
    assert refresh_in("9" * 5_000 + ";url=x") == Refresh(999_999_999.0, "x")


# --- charset -------------------------------------------------------------------------------------

TEXT = "<title>é</title>"


@pytest.mark.parametrize(
    ("body", "header", "charset", "title"),
    [
        (TEXT.encode(), "charset=utf-8", "UTF-8", "é"),
        (TEXT.encode(), 'charset="UTF-8"', "UTF-8", "é"),
        (TEXT.encode("latin-1"), "charset=iso-8859-1", "windows-1252", "é"),
        # A byte order mark is stronger than the header.
        (b"\xef\xbb\xbf" + TEXT.encode(), "charset=iso-8859-1", "UTF-8", "é"),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "charset=utf-8", "UTF-16LE", "é"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "", "UTF-16BE", "é"),
        # The header is stronger than the meta element.
        (b"<meta charset=utf-8>" + TEXT.encode("latin-1"), "charset=latin1", "windows-1252", "é"),
        (b"<meta charset=shift_jis><title>\x83\x65</title>", "", "Shift_JIS", "テ"),
        (b"<meta http-equiv=content-type content='text/html; charset=koi8-r'><title>\xd0", "",
         "KOI8-R", "п"),
        # Unknown labels count as none; UTF-7 is unknown to browsers for good reasons.
        (b"<meta charset=utf-8>" + TEXT.encode(), "charset=utf-7", "UTF-8", "é"),
        (TEXT.encode(), "charset=" + "x" * 4_000, "UTF-8", "é"),
        (b"<meta charset=utf-7><title>+AGE-</title>", "", "windows-1252", "+AGE-"),
        # Without any label: UTF-8 if it is valid, else windows-1252.
        (TEXT.encode(), "", "UTF-8", "é"),
        (TEXT.encode("latin-1"), "", "windows-1252", "é"),
    ],
)  # fmt: skip
def test_charset_by_the_browser_standard(page_of, body, header, charset, title):
    page = page_of(body, f"text/html; {header}")
    assert (page.charset, page.title) == (charset, title)


# --- limits --------------------------------------------------------------------------------------


def test_only_the_first_bytes_are_parsed(page_of):
    page = page_of("<a href=x>" + " " * 2_000 + "<a href=y>", max_bytes=1_024)
    assert [link.url for link in page.links] == [BASE + "x"]
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "1024 of 2020 bytes" in page.detail


def test_links_over_the_limit_are_dropped_and_counted(page_of):
    markup = "".join(f"<a href={number}>" for number in range(30)) + "<img src=i>"
    page = page_of(markup, max_links=10)
    assert [link.url for link in page.links] == [f"{BASE}{number}" for number in range(10)]
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "21 references over the limit of 10" in page.detail


def test_links_up_to_the_limit_are_kept_whole(page_of):
    page = page_of("<a href=1><a href=2><a href=2#x><a href=1><img src=3>", max_links=3)
    assert page.outcome is Outcome.OK
    assert len(page.links + page.assets) == 3


def test_fingerprint_ignores_scripts_and_styles(page_of):
    text = "".join(f"<p>Sentence number {number} of the text.</p>\n" for number in range(40))
    noisy = text + "<style>a{}\n" * 50 + "</style><script>" + "x.y\n" * 200 + "</script>"
    assert page_of(text).simhash == page_of(noisy).simhash
    assert page_of(text).simhash is not None
    assert page_of(text, near_duplicates=False).simhash is None
