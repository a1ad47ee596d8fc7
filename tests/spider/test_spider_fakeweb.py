"""The raw answers of the demo web, as the spider sees them."""

from collections.abc import Iterator

import pytest
from rawserver import RawServer, page

from conftest import QUICK, MakeSpider, fetch_one
from gossamer.fakeweb.process import FakeWeb
from gossamer.fakeweb.raw import RAW
from gossamer.outcomes import Outcome, name_of


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers = {name: data for name, (_, data) in RAW.items()}
    with RawServer(answers | {"good": page(b"good page")}) as server:
        yield server


@pytest.mark.parametrize("name", RAW)
def test_a_raw_answer_has_the_class_it_promises_on_any_connection(
    name: str, server: RawServer, make_spider: MakeSpider
) -> None:
    """What the connection was used for before changes neither the class nor the words for it."""
    site = f"http://a.example:{server.port}"
    first = fetch_one(make_spider(**QUICK), f"{site}/{name}")
    assert name_of(first.outcome) == RAW[name][0], first.detail
    spider = make_spider(**QUICK)
    fetch_one(spider, f"{site}/good")
    accepted = server.accepted
    later = fetch_one(spider, f"{site}/{name}")
    assert server.accepted == accepted, "the connection was used again"
    assert (later.outcome, later.detail) == (first.outcome, first.detail)


@pytest.mark.parametrize("path", ["not-http", "raw/http-0.9", "raw/icy"])
def test_what_is_not_http_is_so_first_and_later(path: str, make_spider: MakeSpider) -> None:
    with FakeWeb(pages=3, hosts=1, seed=3) as web:
        spider = make_spider(**QUICK)
        for _ in range(2):
            fetch = fetch_one(spider, web.oddities + path)
            assert fetch.outcome is Outcome.PROTO_NOT_HTTP
            assert fetch_one(spider, web.start_url).outcome is Outcome.OK
