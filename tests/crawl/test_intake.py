"""What becomes of fetches whose bytes the archive could not keep."""

import contextlib
import os
import sys

import pytest

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.handlers import HandlerSettings
from gossamer.config.settings import Settings
from gossamer.config.spider import SpiderSettings
from gossamer.crawl.intake import Intake
from gossamer.crawl.link import Assignment, Tag
from gossamer.crawl.watch import Watch
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.store.disk import System
from gossamer.store.warc import WarcStore

BODY = b"<title>One</title>" + b"All work and no play. " * 100
URL = "http://site.example/one.html"


class Disk:
    """Refuses as many syncs as it is told to."""

    def __init__(self) -> None:
        self.refusals = 0

    def fdatasync(self, descriptor: int) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError(28, "No space left on device")
        os.fdatasync(descriptor)


def fetch_of(doc_id: int) -> Fetch:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    return Fetch(
        visit=Visit(doc_id, doc_id, "192.0.2.1", URL),
        outcome=Outcome.OK,
        status=200,
        head=head,
        headers=(("content-type", "text/html"),),
        raw=BODY,
        body=BODY,
        fetched_at=1.0,
    )


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(tmp_path, disk):
    settings, clock = Settings(), ManualClock()
    store = WarcStore(
        tmp_path / "archive", "w1", settings.store, clock, system=System(fdatasync=disk.fdatasync)
    )
    yield store
    store.close()


@pytest.fixture
def told():
    return []


@pytest.fixture
def watch():
    return Watch.make()


@pytest.fixture
def make_intake(tmp_path, store, told, watch):
    catalog = str(tmp_path / "catalog.db")
    SqliteCatalog.open(catalog, CatalogSettings()).close()

    def send(tag, payload):
        told.append((tag, payload))

    with contextlib.ExitStack() as stack:

        def make(settings=None):
            assignment = Assignment("w1", "", catalog, "", settings or Settings(), (URL,), b"")
            intake = Intake(assignment, store, watch, ManualClock(), send)
            stack.callback(intake.close)
            return intake

        yield make


@pytest.fixture
def intake(make_intake):
    return make_intake()


def test_pages_are_heard_that_speak_to_our_product_token(make_intake, told):
    fetch = fetch_of(1)
    fetch.body = b"<meta name=examplebot content=nofollow><a href=two.html>x</a>"
    for agent, found in (("ExampleBot", 0), ("OtherBot", 1)):
        intake = make_intake(Settings(spider=SpiderSettings(robots_agent=agent)))
        intake.step([fetch])
        intake.flush()
        assert len(told.pop()[1].findings[0].found) == found


def test_a_payload_that_was_lost_is_kept_in_full_when_it_comes_again(intake, store, disk, told):
    """No document refers to bytes that a full disk took away."""
    disk.refusals = 1
    intake.step([fetch_of(1)])
    intake.flush()
    intake.step([fetch_of(1)])
    intake.flush()
    (first, void), (second, report) = told
    assert (first, second) == (Tag.VOID, Tag.REPORT)
    assert void.disk_full
    assert void.doc_ids == [1]
    kept = store.read(report.findings[0].pointer)
    assert kept.revisit_of is None
    assert kept.raw == BODY


def test_a_payload_that_is_kept_is_only_referred_to(intake, store, told):
    """The same bytes are stored once."""
    intake.step([fetch_of(1), fetch_of(2)])
    intake.flush()
    (_, report) = told[0]
    first, second = [store.read(findings.pointer) for findings in report.findings]
    assert (first.revisit_of, first.raw) == (None, BODY)
    assert second.revisit_of is not None
    assert second.raw == BODY


def test_documents_that_came_together_are_reported_in_their_order(intake, store, told):
    """However many came: they are taken in groups, and none is lost between two groups."""
    intake.step([fetch_of(number) for number in range(1, 20)])
    intake.flush()
    ((_, report),) = told
    assert [findings.doc_id for findings in report.findings] == list(range(1, 20))
    assert [done.trans_id for done in report.done] == list(range(1, 20))
    assert {findings.title for findings in report.findings} == {"One"}
    assert all(store.read(findings.pointer).raw == BODY for findings in report.findings)


def test_a_step_that_fails_costs_one_document_of_those_that_came_together(make_intake, told):
    """The others are kept and understood; the failure says in which code it happened."""
    intake = make_intake(Settings(handlers=HandlerSettings(keep_if=f"{__name__}:odd_or_broken")))
    intake.step([fetch_of(1), fetch_of(2), fetch_of(3)])
    intake.flush()
    ((_, report),) = told
    first, second, third = report.findings
    assert (first.outcome, third.outcome) == (Outcome.OK, Outcome.OK)
    assert first.pointer is not None
    assert third.pointer is not None
    assert (second.outcome, second.pointer, second.title) == (Outcome.INTERNAL, None, "")
    assert "odd_or_broken" in second.detail
    assert len(report.done) == 3


def test_code_of_users_is_watched_under_the_document_it_was_called_for(make_intake, watch):
    """Should it never return, the coordinator knows by which document; afterwards it is by none."""
    LOOKED_AT.clear()
    WATCHES[:] = [watch]
    named = HandlerSettings(keep_if=f"{__name__}:watched_fetch", use=(f"{__name__}:watched_page",))
    make_intake(Settings(handlers=named)).step([fetch_of(1), fetch_of(2)])
    assert sorted(LOOKED_AT) == [("fetch", 1), ("fetch", 2), ("page", 1), ("page", 2)]
    assert watch.current() is None


def test_code_of_users_that_ends_the_program_costs_one_document(make_intake, told):
    intake = make_intake(Settings(handlers=HandlerSettings(keep_if=f"{__name__}:odd_or_leaving")))
    intake.step([fetch_of(1), fetch_of(2)])
    intake.flush()
    ((_, report),) = told
    assert [each.outcome for each in report.findings] == [Outcome.OK, Outcome.INTERNAL]
    assert "\\udcff" in report.findings[1].detail


def test_what_ends_a_worker_all_the_same_is_known_by_its_document(make_intake, watch):
    intake = make_intake(Settings(handlers=HandlerSettings(keep_if=f"{__name__}:interrupting")))
    with pytest.raises(KeyboardInterrupt):
        intake.step([fetch_of(7)])
    assert watch.current() is not None
    assert watch.current()[0] == 7


WATCHES: list[Watch] = []
LOOKED_AT: list[tuple[str, int]] = []


def odd_or_broken(fetch: Fetch) -> bool:
    return bool(fetch.visit.doc_id % 2 or 1 // 0)


def odd_or_leaving(fetch: Fetch) -> bool:
    return bool(fetch.visit.doc_id % 2) or sys.exit("\udcff")


def interrupting(fetch: Fetch) -> bool:
    raise KeyboardInterrupt


def watched_fetch(fetch: Fetch) -> bool:
    document, _ = WATCHES[0].current()
    assert document == fetch.visit.doc_id
    LOOKED_AT.append(("fetch", document))
    return True


def watched_page(page: VisitedPage) -> None:
    document, _ = WATCHES[0].current()
    LOOKED_AT.append(("page", document))
