"""Lists of feeds: every form is read, and a bad line spoils no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.news.finding import Candidate
from gossamer.news.importing import MAX_BYTES, form_of, read_list
from gossamer.news.subscribing import Wish, name_of_source, tidy_name, wish_of

A, B = "https://a.example/rss", "https://b.example/rss"


@pytest.mark.parametrize(
    ("name", "data", "form"),
    [
        ("f.opml", b"", "opml"),
        ("F.XML", b"", "opml"),
        ("f.csv", b"", "csv"),
        ("f.txt", b"<opml>", "text"),
        ("f", b"\xef\xbb\xbf <opml>", "opml"),
        ("f", b"url\nx", "csv"),
        ("f", b"title;URL\n", "csv"),
        ("f", b'"url"\t"source"', "csv"),
        ("f", b"https://a.example/url,x\n", "text"),
        ("-", b"# url list\nhttps://a.example/", "text"),
        ("-", b"", "text"),
    ],
)
def test_the_form_is_told_by_the_name_or_by_the_beginning(name, data, form):
    assert form_of(data, name) == form


def test_one_url_a_line():
    found = read_list(f"\ufeff# x\r\n{A}\r\n\r\n  b.example/rss  \nftp://c.example/\n".encode())
    assert found.wishes == [Wish(A, line=2), Wish("http://b.example/rss", line=4)]
    assert [flaw.line for flaw in found.flaws] == [5]
    assert "cannot use URL 'ftp://c.example/'" in found.flaws[0].why


def test_bytes_that_are_no_text_spoil_their_line_only():
    found = read_list(b"http://\xff.example/\n" + A.encode())
    assert [(flaw.line, flaw.why) for flaw in found.flaws] == [(1, "not valid UTF-8")]
    assert [wish.url for wish in found.wishes] == [A]


def test_utf_16_as_some_editors_save_it():
    assert [wish.url for wish in read_list(f"{A}\r\n{B}".encode("utf-16")).wishes] == [A, B]


def test_a_table_has_its_columns_in_any_order():
    found = read_list(f"Title ; URL;extra;home\nT;{A};x;https://a.example\n;{B}\n".encode())
    assert found.wishes == [
        Wish(A, title="T", home="https://a.example/", line=2),
        Wish(B, line=3),
    ]


def test_a_quote_that_is_never_closed_costs_one_line():
    found = read_list(f'url,title\n{A},"open\n{B},shut\n'.encode())
    assert [(wish.url, wish.title) for wish in found.wishes] == [(A, "open"), (B, "shut")]


def test_a_table_without_the_column_is_refused_as_a_whole():
    found = read_list(b"feed,title\nx,y\n", "f.csv")
    assert found.wishes == []
    assert found.flaws[0].line == 1
    assert "url" in found.flaws[0].why


def test_a_home_that_is_none_is_dropped():
    (wish,) = read_list(f"url,home\n{A},javascript:alert(1)\n".encode()).wishes
    assert wish.home == ""


@pytest.mark.parametrize("name", ["f.txt", "f.csv"])
def test_a_line_without_end_is_a_flaw(name):
    found = read_list(b"url\n" * (name == "f.csv") + b"x" * 70_000, name)
    assert found.wishes == []
    assert "longer than" in found.flaws[0].why


def test_a_list_beyond_the_limit_is_refused():
    found = read_list(b"#" * (MAX_BYTES + 1), "f.txt")
    assert (found.wishes, found.flaws[0].line) == ([], 0)


@given(st.binary(max_size=300), st.sampled_from(["f.opml", "f.csv", "f.txt", "f"]))
def test_no_bytes_raise(data, name):
    found = read_list(data, name)
    assert all(wish.url.startswith(("http://", "https://")) for wish in found.wishes)
    assert all(flaw.why for flaw in found.flaws)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=20),
        max_size=8,
    )
)
def test_good_lines_survive_among_any_others(lines):
    text = "\n".join([*lines, A])
    assert A in [wish.url for wish in read_list(text.encode(), "f.txt").wishes]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.example.co.uk/a", "example.co.uk"),
        ("https://news.example.org:8443/", "example.org:8443"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://[::1]:81/", "[::1]:81"),
        ("http://localhost/", "localhost"),
    ],
)
def test_a_source_that_nobody_named_is_called_by_its_domain(url, name):
    assert name_of_source(url) == name


@given(st.text(max_size=300))
def test_a_name_is_one_line_and_stays_as_it_is(text):
    name = tidy_name(text)
    assert "\n" not in name
    assert len(name) <= 200
    assert tidy_name(name) == name


@pytest.mark.parametrize(("how", "home"), [("itself", "https://own.example/"), ("link", A)])
def test_a_feed_belongs_to_the_site_that_names_it(how, home):
    found = Candidate(A, B, "T", "rss2", "https://own.example/", how, 3)
    assert wish_of(found, "S") == Wish(B, source="S", title="T", home=home, form="rss2")
