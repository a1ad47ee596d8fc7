"""What becomes of fetches whose bytes the archive could not keep."""

import os

import pytest

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.crawl.intake import Intake
from gossamer.crawl.link import Assignment, Tag
from gossamer.crawl.watch import Watch
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
def intake(tmp_path, store, told):
    catalog = str(tmp_path / "catalog.db")
    SqliteCatalog.open(catalog, CatalogSettings()).close()
    assignment = Assignment("w1", "", catalog, "", Settings(), (URL,), b"")

    def send(tag, payload):
        told.append((tag, payload))

    intake = Intake(assignment, store, Watch.make(), ManualClock(), send)
    yield intake
    intake.close()


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
