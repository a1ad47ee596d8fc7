"""What a catalog in memory leaves to the map, which reads it when the crawl is over."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.outcomes import Outcome
from gossamer.site.notes import Notes

sys.path.insert(0, str(Path(__file__).parents[1] / "catalog"))
from catalog_rig import NOW, done, excluded, failure, found

HOME = "http://a.example/"
CSS = {"css": ["http://a.example/a.css"]}


def record(**noted: object) -> str:
    return json.dumps(noted, separators=(",", ":"))


VISITS = (
    lambda due: done(
        due, targets=b"12345678", title="é", records=(record(sha256="1", assets=CSS),)
    ),
    lambda due: done(due, simhash=(1 << 64) - 1, records=('{"mine":1}', record(nofollow=True))),
    lambda due: done(due, records=("of a handler that wrote no JSON",)),
    lambda due: done(due, status=301, redirect_to=HOME, body_bytes=0, checksum=None),
    lambda due: done(due, outcome=int(Outcome.NOT_MODIFIED), status=304, detail="why"),
    lambda due: failure(due, Outcome.HTTP_4XX, status=404),
)


def crawled(notes: Notes | None, **settings: object) -> InMemoryCatalog | SqliteCatalog:
    """Return a catalog in memory with these notes beside it, or one of SQLite without any."""
    if notes is not None:
        catalog = InMemoryCatalog(CatalogSettings(**settings))
        catalog.leave_notes_to(notes)
    else:
        catalog = SqliteCatalog.open(":memory:", CatalogSettings(**settings))
    catalog.begin_run(NOW)
    new = [found(f"{HOME}{number}") for number in range(len(VISITS) + 1)]
    catalog.discover([*new, excluded("http://b.example/")], NOW)
    leased = sorted(catalog.due(len(VISITS), 100, NOW), key=lambda due: due.doc_id)
    verdicts = [visit(due) for visit, due in zip(VISITS, leased, strict=True)]
    catalog.commit(verdicts[:3], NOW)
    catalog.commit(verdicts[3:], NOW)
    return catalog


@pytest.mark.parametrize("settings", [{}, {"keep_links": False}])
def test_documents_are_the_same_with_the_notes_and_without(settings):
    """Whatever became of a URL: what is kept beside the catalog says no more and no less."""
    notes, none = Notes(), Notes()
    kept_records = []
    keep = notes.keep
    notes.keep = lambda records: (kept_records.extend(records), keep(records))
    with crawled(notes, **settings) as kept, crawled(None, **settings) as stored:
        numbers = [doc_id for rows in stored.known() for doc_id, *_ in rows]
        ours, theirs = kept.surveyed_all(numbers), stored.surveyed_all(numbers)
    assert len(theirs) == len(VISITS) + 1
    assert len(kept_records) == len(VISITS) - 1
    assert ours == {each: replace(row, record=ours[each].record) for each, row in theirs.items()}
    for doc_id, row in theirs.items():
        assert notes.seen(ours[doc_id]) == none.seen(row)
        assert notes.refuses(ours[doc_id]) == none.refuses(row)
    assert sum(map(notes.refuses, ours.values())) == 1


def test_links_and_records_of_what_is_done_are_kept_once():
    """Beside the catalog and not in it, too: for that there is no room."""
    with crawled(Notes()) as kept, crawled(None) as stored:
        assert not list(kept.records())
        assert len(list(stored.records())) == 4


def test_equal_assets_are_shared():
    notes = Notes()
    with crawled(None) as stored:
        rows = [replace(row, record="") for row in stored.surveyed_all([1, 2]).values()]
    for row in rows:
        notes.keep([(row.doc_id, record(sha256=str(row.doc_id), assets=CSS))])
    first, second = map(notes.seen, rows)
    assert (first.sha256, second.sha256) == ("1", "2")
    assert first.assets is second.assets
