"""Pages kept as files: the coordinator hears of them when they are durable, not before."""

from pathlib import Path

import pytest

from gossamer.clock import ManualClock
from gossamer.config.load import load
from gossamer.crawl.intake import Intake
from gossamer.crawl.link import Assignment, Tag
from gossamer.crawl.watch import Watch
from gossamer.messages import Fetch, Manner, Visit
from gossamer.outcomes import Outcome
from gossamer.store.disk import System
from gossamer.store.raw_copies import RawCopies

SITE = "5" * 32
URL = "http://site.example/"
HEADERS = (("content-type", "text/html"),)


def fetch_of(number: int) -> Fetch:
    manner = Manner(kept_as=((SITE, f"{number:032x}"),))
    visit = Visit(number, number, "192.0.2.1", f"{URL}{number}", manner=manner)
    return Fetch(
        visit,
        Outcome.OK,
        status=200,
        head=b"HTTP/1.1 200 OK\r\n\r\n",
        headers=HEADERS,
        raw=b"<p>one",
        body=b"<p>one",
        fetched_at=1.0,
    )


@pytest.mark.parametrize("is_refused", [False, True], ids=["durable", "refused"])
def test_a_page_is_reported_after_the_sync_of_its_bytes(tmp_path: Path, is_refused: bool) -> None:
    """A sync that fails makes the visits void: nothing is committed that is not on the disk."""
    order: list[str] = []

    def fdatasync(descriptor: int) -> None:
        order.append("sync")
        written.append(Path(f"/proc/self/fd/{descriptor}").read_bytes())
        if is_refused:
            raise OSError(5, "Input/output error")

    written: list[bytes] = []
    settings = load(None, {"store": {"keep": False, "raw_folder": str(tmp_path / "data")}})
    assignment = Assignment("w1", "", "", "", settings, (URL,), b"")
    intake = Intake(
        assignment, None, Watch.make(), ManualClock(), lambda tag, _: order.append(tag.name)
    )
    system = System(fdatasync=fdatasync, syncs_whole=lambda _: True)
    intake._copies = RawCopies(tmp_path / "data", system=system)
    intake.step([fetch_of(number) for number in range(3)])
    intake.flush()
    assert written[0].count(b"<p>one") == 3
    if is_refused:
        assert order == ["sync", Tag.VOID.name]
        assert list((tmp_path / "data").rglob("*.bin")) == []
    else:
        assert order == ["sync", Tag.REPORT.name]
        assert len(list((tmp_path / "data" / SITE).rglob("*.bin"))) == 3
    intake.close()
    assert list((tmp_path / "data" / ".journal").iterdir()) == []
