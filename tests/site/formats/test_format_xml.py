"""What search engines get is valid by the rules of sitemaps.org and its schema."""

import io
from xml.etree import ElementTree as ET

import msgspec
import pytest
from map_samples import SITE, hostile, page, realistic, site_map_of, small

from gossamer.errors import InputError
from gossamer.site.audit.audit import audit
from gossamer.site.formats import xml
from gossamer.site.model import Facts, Page

ONE = page("/")
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def written(site_map) -> bytes:
    file = io.BytesIO()
    xml.write(site_map, file)
    return file.getvalue()


def locations(content: bytes, root: str = "urlset", entry: str = "url") -> list[str]:
    """Check the rules of the schema and return the URLs."""
    assert content.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n')
    assert len(content) <= 50 * 1024 * 1024
    element = ET.fromstring(content)
    assert element.tag == NAMESPACE + root
    assert len(element) <= 50_000
    found = []
    for child in element:
        assert child.tag == NAMESPACE + entry
        assert [part.tag for part in child] == [NAMESPACE + "loc"]
        url = child[0].text
        assert url is not None
        assert 12 <= len(url) <= 2048
        assert url.isascii()
        assert url.startswith(("http://", "https://"))
        found.append(url)
    return found


def many(count: int, tail: str = "") -> list[Page]:
    return [msgspec.structs.replace(ONE, url=f"{SITE}/{n}/{tail}") for n in range(count)]


def test_pages_with_content_of_their_own_are_listed():
    assert locations(written(small())) == [SITE + "/", SITE + "/about"]


@pytest.mark.parametrize(
    "left_out",
    [
        page("/error", status=404, error="404"),
        page("/partial", status=200, error="body was cut"),
        page("/alias", alias_of=SITE + "/"),
        page("/moved", status=301, facts=Facts(redirect_to=SITE + "/")),
        page("/hidden", facts=Facts(noindex=True)),
        page("/copied", facts=Facts(canonical="https://other.example/")),
        page("/refreshed", facts=Facts(redirect_to="https://other.example/")),
        page("/" + "x" * 2048),
        page("", url="http://a.b/"),
    ],
    ids=lambda one: one.url[:30],
)
def test_what_is_left_out(left_out: Page):
    own = page("/", facts=Facts(canonical=SITE + "/"))
    assert locations(written(site_map_of([own, left_out]))) == [SITE + "/"]


def test_an_audit_has_nothing_against_what_is_listed():
    """A sitemap that is put in place must not be a fault the next day."""
    site_map = realistic()
    listed = set(locations(written(site_map)))
    for one in site_map.pages:
        one.facts.in_sitemap = one.url in listed
    assert "sitemap-unsuitable" not in {finding.rule for finding in audit(site_map)}


def test_hostile_urls_are_escaped():
    site_map = hostile()
    found = locations(written(site_map))
    listed = [one.url for one in site_map.pages if xml.is_listed(one)]
    assert found == listed
    assert b"<script" not in written(site_map)


def test_what_xml_cannot_hold_is_quoted():
    site_map = site_map_of([page("/\x00\x0b\ufffe/ü")])
    assert locations(written(site_map)) == [SITE + "/%00%0B%EF%BF%BE/%C3%BC"]


def test_a_site_without_pages_is_an_empty_sitemap():
    assert locations(written(site_map_of([]))) == []


def test_beyond_50_000_urls_there_is_an_index():
    pages = many(100_001)
    files = dict(xml.files(site_map_of(pages), "sitemap.xml"))
    assert list(files) == ["sitemap-1.xml", "sitemap-2.xml", "sitemap-3.xml", "sitemap.xml"]
    index = locations(files["sitemap.xml"], "sitemapindex", "sitemap")
    assert index == [f"{SITE}/sitemap-{n}.xml" for n in (1, 2, 3)]
    parts = [locations(files[f"sitemap-{n}.xml"]) for n in (1, 2, 3)]
    assert [len(part) for part in parts] == [50_000, 50_000, 1]
    assert [url for part in parts for url in part] == [one.url for one in pages]


def test_beyond_50_megabytes_too():
    pages = many(28_000, "x" * 1900)
    parts = [locations(part) for part in xml.sitemaps(site_map_of(pages))]
    assert len(parts) == 2
    assert [url for part in parts for url in part] == [one.url for one in pages]


def test_exactly_as_many_as_fit_are_one_file():
    pages = [page(f"/{n}") for n in range(10)]
    assert len(list(xml.sitemaps(site_map_of(pages), max_urls=10))) == 1
    assert len(list(xml.sitemaps(site_map_of(pages), max_urls=9))) == 2
    whole = next(xml.sitemaps(site_map_of(pages)))
    assert len(list(xml.sitemaps(site_map_of(pages), max_bytes=len(whole)))) == 1
    halves = list(xml.sitemaps(site_map_of(pages), max_bytes=len(whole) - 1))
    assert len(halves) == 2
    assert all(len(half) < len(whole) for half in halves)


def test_a_stream_cannot_take_several_files():
    pages = many(50_001)
    file = io.BytesIO()
    with pytest.raises(InputError, match="-o"):
        xml.write(site_map_of(pages), file)
    assert file.getvalue() == b""


def test_a_real_site_is_listed_without_its_errors():
    site_map = realistic()
    found = locations(written(site_map))
    assert len(found) == len(set(found)) > 200
    by_url = {one.url: one for one in site_map.pages}
    assert all(by_url[url].status == 200 and not by_url[url].facts.noindex for url in found)
