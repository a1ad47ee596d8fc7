"""Reports of pages: what a worker has worked out need not be worked out again."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.reports import PageReport
from gossamer.url.parts import md5_of

URLS = st.lists(st.text(max_size=20), max_size=10).map(tuple)


@given(URLS, URLS)
def test_keys_are_those_of_links_and_media(links: tuple[str, ...], media: tuple[str, ...]) -> None:
    urls = (*links, *media)
    report = PageReport(links=links, media=media, keys=b"".join(map(md5_of, urls)))
    assert report.key_by_url() == {url: md5_of(url) for url in urls}


@given(URLS)
def test_a_report_without_keys_has_none(links: tuple[str, ...]) -> None:
    assert PageReport(links=links).key_by_url() == {}
