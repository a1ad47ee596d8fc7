"""A worker of the store server: what Spiders have fetched is kept, parsed and understood.

The very code that does so in a crawl (`crawl/intake.py`), without a spider of its own.
"""

import os
import select
import sys
from collections import deque
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.duty import excused, report_for_duty, say_ready
from gossamer.crawl.intake import Intake, Send, archive_store
from gossamer.crawl.link import (
    Assignment,
    Deposit,
    Link,
    Tag,
    decode_deposits,
    decode_start_urls,
)
from gossamer.crawl.watch import Watch
from gossamer.messages import Fetch
from gossamer.outcomes import Outcome
from gossamer.spider.redirect import redirect
from gossamer.wire.exchange import fetch_of
from gossamer.wire.results import PLAIN

# Nobody waits for a result to be saved: no host's slot depends on it, as it does in a crawl. So
# more of them may share a sync and a transaction.
_SYNC_SECONDS: Final = 0.05


class StoreWorker:
    """Takes deposits, one after the other."""

    def __init__(self, intake: Intake, settings: Settings, send: Send) -> None:
        self._intake = intake
        self._settings = settings
        self._send = send
        self._waiting: deque[Deposit] = deque()

    def begin(self, deposits: Sequence[Deposit]) -> None:
        """Take deposits."""
        self._waiting.extend(deposits)

    def step(self, fetches: Sequence[Fetch] = ()) -> None:
        """Understand the next one; when there is none, make durable what is not."""
        if not self._waiting:
            self._intake.step(fetches)
            return
        self._intake.step([fetched(self._waiting.popleft(), self._settings)])

    def wait_seconds(self) -> float:
        """Return how long the loop may wait for something to happen."""
        return 0.0 if self._waiting else self._intake.wait_seconds()

    def flush(self) -> None:
        """Understand all there is, make it durable and report it."""
        while self._waiting:
            self.step()
        self._intake.flush()

    def use_start_urls(self, start_urls: Sequence[str]) -> None:
        """Judge by these what is in scope."""
        self._intake.use_start_urls(start_urls)

    def cancel(self) -> None:
        """Report what waits as not done."""
        self._intake.flush()
        self._send(Tag.CANCELLED, [deposit.visit.doc_id for deposit in self._waiting])
        self._waiting.clear()

    def close(self) -> None:
        """Finish the archive files."""
        self._intake.close()


def fetched(deposit: Deposit, settings: Settings) -> Fetch:
    """Return the fetch that a deposit tells of, as if our own spider had made it."""
    result, limit = deposit.result, settings.spider.max_doc_bytes
    if result.form == PLAIN and len(result.document) > limit:
        result = replace(result, document=result.document[:limit], cut=True)
    fetch = fetch_of(result, deposit.visit, deposit.received_at)
    return fetch if fetch.redirect_to is None else _judged(fetch, fetch.redirect_to, settings)


def _judged(fetch: Fetch, target: str, settings: Settings) -> Fetch:
    """Judge a redirect by the whole chain, of which a Spider sees only what it followed itself."""
    visit = fetch.visit
    location = (("location", target),)
    outcome, target_url, detail = redirect(
        fetch.status, location, visit.url, visit.via, settings.spider
    )
    if fetch.outcome is not Outcome.OK:
        return replace(fetch, redirect_to=target_url)
    return replace(fetch, redirect_to=target_url, outcome=outcome, detail=detail or fetch.detail)


def local_worker(assignment: Assignment, clock: Clock, send: Send) -> StoreWorker:
    """Return a worker inside this process."""
    return _worker(assignment, Watch.make(), clock, send)


def _worker(assignment: Assignment, watch: Watch, clock: Clock, send: Send) -> StoreWorker:
    store = archive_store(assignment, clock)
    intake = Intake(assignment, store, watch, clock, send, sync_seconds=_SYNC_SECONDS)
    return StoreWorker(intake, assignment.settings, send)


def main(arguments: Sequence[str]) -> int:
    """Run a worker process: descriptors of the link and of the watch are its arguments."""
    link, watch, assignment = report_for_duty(arguments)
    with excused(link):
        worker = _worker(assignment, watch, SystemClock(), link.send)
    say_ready(link, arguments)
    _serve(link, worker)
    worker.close()
    return 0


def _serve(link: Link, worker: StoreWorker) -> None:
    # What came along with the assignment does not make the descriptor readable any more.
    stopping = _listen(link, worker, read=False)
    while not stopping:
        if select.select([link], [], [], worker.wait_seconds())[0]:
            stopping = _listen(link, worker)
        worker.step()
    worker.cancel()


def _listen(link: Link, worker: StoreWorker, *, read: bool = True) -> bool:
    """Take what the store server says; return whether it says STOP."""
    for tag, payload in link.receive(read=read):
        if tag is Tag.DEPOSITS:
            worker.begin(decode_deposits(payload))
        elif tag is Tag.START_URLS:
            worker.use_start_urls(decode_start_urls(payload))
        elif tag is Tag.STOP:
            return True
    if link.closed:
        # The store server is gone: nobody would commit what is kept from here on.
        os._exit(1)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
