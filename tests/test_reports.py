"""Reports of pages: what a worker has worked out need not be worked out again."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.reports import PageReport
from gossamer.url.parts import md5_of
from gossamer.url.plain import KEY_BYTES

URLS = st.lists(st.text(max_size=20), max_size=10).map(tuple)


@given(URLS, URLS)
def test_a_report_is_keyed_with_a_key_for_each_link_and_medium(
    links: tuple[str, ...], media: tuple[str, ...]
) -> None:
    keys = b"".join(md5_of(url)[:KEY_BYTES] for url in (*links, *media))
    assert PageReport(links=links, media=media, keys=keys).is_keyed


@given(URLS.filter(bool), st.integers(0, 40))
def test_a_report_with_other_keys_is_not_keyed(links: tuple[str, ...], length: int) -> None:
    report = PageReport(links=links, keys=bytes(length))
    assert report.is_keyed == (length == KEY_BYTES * len(links))
