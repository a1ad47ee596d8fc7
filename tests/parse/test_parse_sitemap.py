"""The zoo of reliability 3.10 and T10."""

import gzip
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.parse import ParseSettings
from gossamer.messages import Kind
from gossamer.outcomes import Outcome
from gossamer.parse.sitemap import understand_sitemap, unpack
from gossamer.url.canonical import Joiner

SITE = "http://site.example/"
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def urlset(*urls: str, namespace: str = NAMESPACE) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc><lastmod>9999-99-99</lastmod></url>" for url in urls)
    return f"<?xml version='1.0'?>\n<urlset xmlns='{namespace}'>{entries}</urlset>".encode()


def read(body: bytes, **settings: int):
    return understand_sitemap(body, SITE + "sitemap.xml", ParseSettings(**settings), Joiner())


def urls_of(page) -> list[str]:
    assert all(link.kind == "sitemap_entry" for link in page.links)
    return [link.url for link in page.links]


@pytest.mark.parametrize("kind", [Kind.PAGE, Kind.SITEMAP])
@pytest.mark.parametrize(
    "content_type", ["application/xml", "text/xml", "text/html", "text/plain", None]
)
def test_urlset_is_known_by_its_content(page_of, kind, content_type):
    page = page_of(urlset(SITE + "a", SITE + "b?x=1&amp;y=2"), content_type, kind=kind)
    assert urls_of(page) == [SITE + "a", SITE + "b?x=1&y=2"]
    assert page.outcome is Outcome.OK


def test_index_entries_are_sitemaps(page_of):
    body = f"<sitemapindex><sitemap><loc> {SITE}one.xml </loc></sitemap></sitemapindex>"
    page = page_of(body, "application/xml")
    assert [(link.url, link.kind) for link in page.sitemap_urls] == [(SITE + "one.xml", "sitemap")]
    assert page.links == ()


@pytest.mark.parametrize(
    "body",
    [
        urlset(SITE + "a", namespace="http://www.google.com/schemas/sitemap/0.84"),
        urlset(SITE + "a", namespace=""),
        b"\n\n  " + urlset(SITE + "a"),
        b"\xef\xbb\xbf" + urlset(SITE + "a"),
        urlset(SITE + "a").decode().encode("utf-16"),
        urlset(SITE + "a").replace(b"loc>", b"LOC>").replace(b"urlset", b"URLSET"),
        b"<s:urlset xmlns:s='x'><s:url><s:loc>/a</s:loc></s:url></s:urlset>",
        f"<urlset><url><loc><![CDATA[{SITE}a]]></loc></url></urlset>".encode(),
        b"<urlset><url><loc>/a</loc></url></urlset>",
        b"<!DOCTYPE urlset SYSTEM 'file:///etc/hostname'><urlset><url><loc>/a</loc></url></urlset>",
        b"<?xml version='1.0' encoding='gb2312'?><urlset><url><loc>/a</loc></url></urlset>",
        b"<?xml version='1.0' encoding='nonsense'?><urlset><url><loc>/a</loc></url></urlset>",
        b"<rss><channel><link>/no</link><item><link>/a</link></item></channel></rss>",
        b"<feed><link href='/n'/><entry><link href='/a'/><link rel='x' href='b'/></entry></feed>",
        b"<rdf:RDF xmlns:rdf='x'><item><link>/a</link></item></rdf:RDF>",
    ],
)  # fmt: skip
def test_odd_sitemaps_are_read(body):
    page = read(body)
    assert urls_of(page) == [SITE + "a"]
    assert page.outcome is Outcome.OK


def test_bare_ampersands_and_control_characters_are_repaired():
    page = read(urlset(SITE + "a?x=1&y=2", SITE + "b\x03", SITE + "c&copy=1"))
    assert urls_of(page) == [SITE + "a?x=1&y=2", SITE + "b", SITE + "c&copy=1"]
    assert page.outcome is Outcome.OK


def test_entries_of_other_hosts_are_returned():
    assert urls_of(read(urlset("https://other.example/x"))) == ["https://other.example/x"]


def test_images_are_not_pages_and_alternates_are():
    body = (
        b"<urlset xmlns:image='i' xmlns:x='x'><url><loc>/a</loc>"
        b"<image:image><image:loc>/i.png</image:loc></image:image>"
        b"<x:link rel='alternate' hreflang='de' href='/de'/></url></urlset>"
    )
    page = read(body)
    assert [(link.url, link.kind) for link in page.links] == [
        (SITE + "a", "sitemap_entry"),
        (SITE + "de", "alternate"),
    ]


def test_broken_end_keeps_the_entries_before_it():
    page = read(urlset(SITE + "a", SITE + "b")[:-30])
    assert SITE + "a" in urls_of(page)
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "broken XML" in page.detail


def test_50_001_entries_are_cut_and_say_so():
    page = read(urlset(*(f"{SITE}{number}" for number in range(50_001))))
    assert len(page.links) == 50_000
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "beyond 50000" in page.detail


def test_alternates_take_no_room_from_entries():
    languages = "".join(f"<x:link rel='alternate' href='/{number}'/>" for number in range(9))
    entries = "".join(f"<url><loc>/{number}</loc>{languages}</url>" for number in range(9))
    body = f"<urlset xmlns:x='x'>{entries}</urlset>".encode()
    page = read(body, max_sitemap_urls=9)
    assert [link.kind for link in page.links].count("sitemap_entry") == 9
    assert page.outcome is Outcome.OK
    page = read(body.replace(b"'/8'", b"'/more'").replace(b"'/7'", b"'/8'", 1), max_sitemap_urls=9)
    assert [link.kind for link in page.links].count("sitemap_entry") == 9
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert page.detail == "alternates beyond 9 were dropped"


@pytest.mark.slow
def test_a_million_entries_in_one_line_are_bounded():
    body = b"<urlset>" + b"".join(b"<url><loc>/%d</loc></url>" % n for n in range(1_000_000))
    started = time.process_time()
    page = read(body)
    assert time.process_time() - started < 5.0
    assert len(page.links) == 50_000


def test_large_sitemap_is_cut_and_says_so():
    page = read(urlset(*(f"{SITE}{number}" for number in range(100))), max_sitemap_bytes=2_048)
    assert 10 < len(page.links) < 100
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "only the first 2048" in page.detail


@pytest.mark.parametrize("body", [b"<html><body>not found", b"<x/>", b"no such thing", b"", b"{}"])
def test_what_is_no_sitemap_fails(body):
    page = read(body)
    assert page.outcome is Outcome.PARSE_FAILED
    assert page.links == ()


def test_html_in_place_of_a_sitemap_is_read_as_html(page_of):
    page = page_of("<!doctype html><a href=/a>t</a>", "application/xml", kind=Kind.SITEMAP)
    assert page.content_type == "text/html"
    assert [(link.url, link.kind) for link in page.links] == [(SITE + "a", "a")]


# --- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_sitemap(page_of, ending, codec):
    body = ending.join([SITE + "a", "", "  " + SITE + "b", "words", "ftp://x/", SITE + "a"])
    page = page_of(body.encode(codec), "text/plain", kind=Kind.SITEMAP)
    assert urls_of(page) == [SITE + "a", SITE + "b"]
    assert page.outcome is Outcome.OK


# --- gzip ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Kind.PAGE, Kind.SITEMAP])
@pytest.mark.parametrize("content_type", ["application/gzip", "application/xml", "text/html", None])
def test_packed_sitemap(page_of, kind, content_type):
    page = page_of(gzip.compress(urlset(SITE + "a")), content_type, kind=kind)
    assert urls_of(page) == [SITE + "a"]
    assert page.content_type == "application/gzip"


def test_several_members_are_one_file():
    body = urlset(SITE + "a", SITE + "b")
    assert unpack(gzip.compress(body[:40]) + gzip.compress(body[40:]), 10_000) == (body, True)


def test_gzip_that_ends_early_keeps_what_there_is():
    packed = gzip.compress(urlset(*(f"{SITE}{n:x}{zlib.crc32(b'%d' % n)}" for n in range(9_000))))
    page = read(packed[: len(packed) // 2])
    assert 100 < len(page.links) < 9_000
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "ends early" in page.detail


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (gzip.compress(bytes(10_000_000), mtime=0), "more than 1000000 bytes"),
        (gzip.compress(gzip.compress(bytes(10_000), mtime=0), mtime=0), "gzip inside gzip"),
        (b"\x1f\x8b\x08nonsense", "cannot be unpacked"),
    ],
)
def test_bombs_and_broken_gzip_fail(body, detail):
    page = read(body, max_sitemap_bytes=1_000_000)
    assert page.outcome is Outcome.PARSE_FAILED
    assert detail in page.detail


def test_many_tiny_members_cost_little():
    started = time.process_time()
    unpack(gzip.compress(b"") * 50_000, 1_000)
    assert time.process_time() - started < 2.0


# --- T10 -----------------------------------------------------------------------------------------

LAUGHS = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 10))


@pytest.mark.parametrize("kind", [Kind.PAGE, Kind.SITEMAP])
@pytest.mark.parametrize(
    "document_type",
    [
        f"[<!ENTITY l0 'ha'>{LAUGHS}]",
        f"[<!ENTITY l9 '{'x' * 100_000}'>]",
        "[<!ENTITY l9 SYSTEM 'file:///etc/hostname'>]",
        "[<!ENTITY % p SYSTEM 'http://127.0.0.1:9/x.dtd'> %p; <!ENTITY l9 'x'>]",
        "SYSTEM 'http://127.0.0.1:9/x.dtd' [<!ENTITY l9 'x'>]",
        "[<!ATTLIST url a CDATA 'x'>]",
    ],
)
def test_document_types_with_declarations_are_refused(page_of, kind, document_type):
    body = f"<!DOCTYPE urlset {document_type}><urlset><url><loc>/{'&l9;' * 50}</loc></url></urlset>"
    started = time.process_time()
    page = page_of(body, "application/xml", kind=kind)
    assert time.process_time() - started < 1.0
    assert page.outcome is Outcome.PARSE_FAILED
    assert page.links == ()
    assert "document type" in page.detail


@pytest.mark.parametrize(
    "piece",
    ["<a>", "<url>", "<!--", "<![CDATA[", "<?x ", "&", "<url a='", "<loc>", "<url><loc>", "]]>"],
)
def test_hostile_xml_costs_little(piece):
    body = b"<urlset>" + (piece * (1_000_000 // len(piece))).encode()
    started = time.process_time()
    page = read(body)
    assert time.process_time() - started < 2.0
    assert page.outcome is not Outcome.OK


@pytest.mark.parametrize("mistake", [b"&", b"\x01"])
def test_mistakes_beyond_number_are_not_all_repaired(mistake):
    """To write out 50 million of them took six seconds and 600 MB; those of people are."""
    started = time.process_time()
    assert read(b"<urlset>" + mistake * 50_000_000).outcome is Outcome.PARSE_FAILED
    assert time.process_time() - started < 2.0
    page = read(urlset(*(f"{SITE}?a&b&c={number}" for number in range(10_000))))
    assert (len(page.links), page.outcome) == (10_000, Outcome.OK)


@pytest.mark.parametrize(("start", "end"), [(b"<!--", b"-->"), (b"<a b='", b"'/>"), (b"<?", b"?>")])
def test_a_giant_token_costs_no_more_than_its_length(start, end):
    """Old versions of expat begin a long token anew with each piece that they are fed."""
    body = b"<urlset>" + start + b"x" * (24 << 20) + end + b"<url><loc>/a</loc></url></urlset>"
    started = time.process_time()
    page = read(body)
    assert time.process_time() - started < 2.0
    assert urls_of(page) == [SITE + "a"]


def test_a_tag_full_of_attributes_ends_the_sitemap():
    """A tag of 50 MB of them took expat 650 MB."""
    attributes = b" ".join(b"a%d='x'" % number for number in range(20_000))
    body = b"<urlset><url><loc>/a</loc></url><url %b><loc>/b</loc></url></urlset>"
    page = read(body % attributes)
    assert (urls_of(page), page.outcome) == ([SITE + "a"], Outcome.PARSE_TRUNCATED)
    assert "attributes" in page.detail
    few = read(body % b"a='b' c=\"%b\"" % (b"=" * 4_000))
    assert (urls_of(few), few.outcome) == ([SITE + "a", SITE + "b"], Outcome.OK)


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"<urlset>", b"<url><loc>", b"\x1f\x8b\x08", b"<?xml"]),
)
def test_no_bytes_raise(body, prefix):
    read(prefix + body)
