"""Handlers of the user's own: what they may return, and what their faults cost."""

import sys

import pytest

from gossamer.errors import ConfigError
from gossamer.handlers.user import load_handlers, run_handlers
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Document, Fetch, Visit
from gossamer.outcomes import Outcome

PAGE = VisitedPage(
    Document(
        Fetch(visit=Visit(1, 1, "192.0.2.1", "http://h/"), outcome=Outcome.OK, status=200), None
    ),
    None,
)


def test_urls_and_records_are_told_apart():
    made = run_handlers({"h": lambda page: [page.url, {"a": 1}, ["b"]]}, PAGE)
    assert made == (["http://h/"], ['{"a":1}', '["b"]'], "")


@pytest.mark.parametrize(
    ("result", "urls", "records"),
    [(None, [], []), ("/next", ["/next"], []), ({"title": "T"}, [], ['{"title":"T"}'])],
)
def test_a_single_url_or_record_is_not_taken_to_pieces(result, urls, records):
    assert run_handlers({"h": lambda page: result}, PAGE) == (urls, records, "")


def end_the_program(page: VisitedPage) -> None:
    sys.exit(0)


def quote_what_cannot_be_stored(page: VisitedPage) -> None:
    raise ValueError("\udcff\x1b" + "x" * 1_000_000)


@pytest.mark.parametrize("fault", [end_the_program, quote_what_cannot_be_stored])
def test_a_fault_costs_neither_the_page_nor_the_other_handlers(fault):
    urls, _, note = run_handlers({"bad": fault, "good": lambda page: ["/next"]}, PAGE)
    assert urls == ["/next"]
    assert note.startswith("handler bad: ")
    assert len(note.encode()) <= 1_010
    assert note.isprintable()


async def asynchronous(page: VisitedPage) -> None:
    """It would never be awaited."""


async def asynchronous_generator(page: VisitedPage):
    yield {}


@pytest.mark.parametrize("name", ["asynchronous", "asynchronous_generator"])
def test_an_asynchronous_handler_is_refused(name):
    with pytest.raises(ConfigError, match="plain function"):
        load_handlers([f"{__name__}:{name}"])
