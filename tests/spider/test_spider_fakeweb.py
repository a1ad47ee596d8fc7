"""The raw answers of the demo web, as the spider sees them."""

from collections.abc import Iterator

import pytest
from rawserver import RawServer

from conftest import QUICK, MakeSpider, fetch_one
from gossamer.fakeweb.raw import RAW
from gossamer.outcomes import name_of


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer({name: data for name, (_, data) in RAW.items()}) as server:
        yield server


@pytest.mark.parametrize("name", RAW)
def test_a_raw_answer_has_the_class_it_promises(
    name: str, server: RawServer, make_spider: MakeSpider
) -> None:
    fetch = fetch_one(make_spider(**QUICK), f"http://a.example:{server.port}/{name}")
    assert name_of(fetch.outcome) == RAW[name][0], fetch.detail
