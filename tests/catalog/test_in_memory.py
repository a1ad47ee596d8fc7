"""What is special about a catalog without a file: nothing is undone, so nobody goes on after it."""

import pytest
from catalog_rig import NOW, done, failure, found, page

from gossamer.catalog.catalog import SiteCatalog, Verdict
from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import CatalogError
from gossamer.outcomes import Outcome, State

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


@pytest.fixture
def catalog():
    made = InMemoryCatalog(CatalogSettings())
    made.begin_run(NOW)
    return made


class FailingGate:
    """Breaks in the middle of a commit."""

    def begin(self, is_open):
        pass

    def admit(self, found):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "change",
    [
        lambda catalog: catalog.add([found(C)], NOW),
        lambda catalog: catalog.discover([found(C)], NOW),
        lambda catalog: catalog.due(9, 9, NOW),
        lambda catalog: catalog.release([1], NOW),
        lambda catalog: catalog.commit([], NOW),
        lambda catalog: catalog.readmit([1], NOW),
        lambda catalog: catalog.keep_out([1], Outcome.POLICY_SCOPE, NOW),
        lambda catalog: catalog.try_again((), 2, NOW),
        lambda catalog: catalog.requeue_due(NOW, 9),
        lambda catalog: catalog.begin_run(NOW),
    ],
)
def test_after_an_error_in_the_middle_of_a_commit_nothing_changes_any_more(catalog, change):
    catalog.add([found(A)], NOW)
    (due,) = catalog.due(1, 1, NOW)
    with pytest.raises(ZeroDivisionError):
        catalog.commit([done(due, [found(B)])], NOW, gate=FailingGate())
    with pytest.raises(CatalogError, match="half changed"):
        change(catalog)


def test_what_is_refused_beforehand_changes_nothing(catalog):
    catalog.add([found(A), found(B)], NOW)
    first, second = catalog.due(9, 9, NOW)
    with pytest.raises(CatalogError, match="cannot be a lease"):
        catalog.commit([done(first), Verdict(page(second.doc_id), State.LEASED)], NOW)
    assert catalog.counts().leased == 2
    assert catalog.commit([done(first), done(second)], NOW).applied == 2
    assert catalog.check() == []


def test_both_backends_are_what_a_map_asks_for(catalog):
    assert isinstance(catalog, SiteCatalog)
    with SqliteCatalog.open(":memory:", CatalogSettings()) as other:
        assert isinstance(other, SiteCatalog)


def test_the_check_finds_wrong_counters_and_what_would_never_be_leased(catalog):
    """It is what the other tests go by."""
    catalog.add([found(A), found(B), found(C)], NOW)
    due, *others = catalog.due(9, 9, NOW)
    catalog.commit([failure(due, state=State.PENDING, due_at=NOW + 9)], NOW)
    catalog.release([each.doc_id for each in others], NOW)
    assert catalog.check() == []
    tables = catalog._tables
    for spoil in (
        lambda: tables.totals.__setitem__(0, 7),
        lambda: tables.outcomes.update({3: 1}),
        tables.hosts["b.example"].fresh.clear,
        tables.hosts["a.example"].retries.clear,
        tables.waits.clear,
        lambda: tables.hosts["c.example"].counts.__setitem__(0, 0),
        lambda: tables.delivered.update({1: NOW}),
        tables.by_md5.clear,
    ):
        before = len(catalog.check())
        spoil()
        assert len(catalog.check()) > before


def test_equal_texts_of_tries_are_kept_once_as_long_as_they_are_few(catalog, monkeypatch):
    monkeypatch.setattr("gossamer.catalog.in_memory_tables._MAX_TEXTS", 3)
    tries = catalog._tables.tries
    texts = ["".join(["text/", str(number)]) for number in range(5)]
    again = ["".join(["text/", str(number)]) for number in range(5)]
    assert [tries.shared(text) for text in texts] == texts
    assert [tries.shared(text) is first for text, first in zip(again, texts, strict=True)] == [
        *(True, True, True),
        *(False, False),
    ]
