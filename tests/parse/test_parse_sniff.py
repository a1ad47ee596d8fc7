import gzip

import pytest

from gossamer.outcomes import Outcome
from gossamer.parse.sniff import claimed_by, content_type_of

PNG = b"\x89PNG\r\n\x1a\n\0\0"
SITEMAP = b"<urlset><url><loc>http://site.example/a</loc></url></urlset>"


@pytest.mark.parametrize(
    ("claimed", "body", "expected"),
    [
        ("text/html", b"<!doctype html><p>", "text/html"),
        ("text/html", b"just words", "text/html"),
        ("text/html", b"", "text/html"),
        ("text/html", b"<?xml version='1.0'?><html><p>", "text/html"),
        ("text/html", b"%PDF-1.7", "application/pdf"),
        ("text/html", PNG, "image/png"),
        ("text/html", SITEMAP, "application/xml"),
        ("text/html", b"<?xml version='1.0'?>\n<!-- x -->\n" + SITEMAP, "application/xml"),
        ("text/html", b"<URLSET>", "application/xml"),
        ("text/html", b"<Feed>", "application/xml"),
        ("text/html", b"<RSS>", "application/xml"),
        ("text/html", b"<", "text/html"),
        ("text/html", b"<script>1</script><urlset>", "text/html"),
        # Lies (reliability H85).
        ("text/plain", b"\n <!DOCTYPE HTML><p>", "text/html"),
        ("text/plain", b"<html><p>", "text/html"),
        ("image/png", b"<!doctype html><p>", "text/html"),
        ("image/png", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("application/octet-stream", b"<html >", "text/html"),
        ("application/octet-stream", b"%PDF-1.7", "application/pdf"),
        ("text/plain", b"%PDF-1.7", "application/pdf"),
        ("application/xml", b"<!doctype html><html><p>", "text/html"),
        ("text/xml", b"<?xml version='1.0'?><html xmlns='x'>", "application/xhtml+xml"),
        ("text/css", b"<!DOCTYPE html><title>404", "text/html"),
        ("application/json", b"<html><title>404", "text/html"),
        ("application/xml", b"\x1f\x8b\x08\0", "application/gzip"),
        # The truth.
        ("text/plain", b"a < b", "text/plain"),
        ("text/css", b"<!-- a {} -->", "text/css"),
        ("application/json", b"{}", "application/json"),
        ("application/vnd.oasis.opendocument.text", b"PK\x03\x04",
         "application/vnd.oasis.opendocument.text"),
        ("image/svg+xml", b"<svg>", "image/svg+xml"),
        ("application/rss+xml", b"<rss>", "application/rss+xml"),
        # Nothing claimed.
        ("", b"<p >hello", "text/html"),
        ("", b"<pre>hello", "text/plain"),
        ("", b"words", "text/plain"),
        ("", b"\0\1\2", "application/octet-stream"),
        ("", b"\xff\xfe<\0h\0t\0m\0l\0>\0", "text/html"),
        ("", b"\xff\xfew\0", "text/plain"),
        ("", b"\xef\xbb\xbf<?xml version='1.0'?><x>", "application/xml"),
        ("", b"<?xml version='1.0'?><html>", "application/xhtml+xml"),
        ("", SITEMAP, "application/xml"),
        ("", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("", b"\0\0\0\x20ftypisom", "video/mp4"),
        ("", b"", "text/plain"),
    ],
)  # fmt: skip
def test_type_is_claimed_or_sniffed(claimed, body, expected):
    assert content_type_of(claimed, body) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, ("", "")),
        ("", ("", "")),
        ("text/html", ("text/html", "")),
        ("Text/HTML; Charset=UTF-8", ("text/html", "utf-8")),
        ("text/html;charset='utf-8'", ("text/html", "utf-8")),
        ('text/html; a=b; charset = "utf-8"; c=d', ("text/html", "utf-8")),
        ("text/html, text/html", ("text/html", "")),
        ("; charset=utf-8", ("", "utf-8")),
        ("nonsense", ("", "")),
        ("text/html; charset=" + "x" * 4_096, ("text/html", "x" * 40)),
        ("x" * 4_096, ("", "")),
    ],
)
def test_header_is_read_leniently(header, expected):
    assert claimed_by(header) == expected


def test_a_wrong_label_is_told(page_of):
    page = page_of("<!doctype html><a href=/x>", "image/png")
    assert page.content_type == "text/html"
    assert page.detail == "labelled image/png"
    assert [link.url for link in page.links] == ["http://site.example/x"]
    assert page.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"http://site.example/x", "text/plain"),
        (b'{"a": "http://site.example/x"}', "application/json"),
        (PNG + b"<a href=x>", "image/png"),
        (b"%PDF-1.7 <a href=x>", "application/pdf"),
        (b"<svg><a href='x'/></svg>", "image/svg+xml"),
        (gzip.compress(b"<a href=x>", mtime=0), "application/gzip"),
        (b"\x1f\x8b\x08 no gzip at all", "application/gzip"),
        (b"", "text/plain"),
    ],
)
def test_other_types_have_no_links(page_of, body, content_type):
    page = page_of(body, content_type)
    assert page.content_type == content_type
    assert page.links == page.assets == page.sitemap_urls == ()
    assert page.outcome is Outcome.OK
