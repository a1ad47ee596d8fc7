"""A worker: spider, store, parse and handlers in one process of its own."""

import os
import sys
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.crawl.duty import excused, report_for_duty, say_ready
from gossamer.crawl.intake import Intake, Send, archive_store
from gossamer.crawl.link import Assignment, Link, Tag, decode_orders
from gossamer.crawl.watch import Watch
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import HOST_TO_BLAME
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy

_COMPANY_SECONDS: Final = 0.000_3
"""What is to be reported waits so long for the next fetch to end: a server that is near answers
many requests in the same moment, and each report costs the coordinator as much as two pages."""
_SLOW_SECONDS: Final = 1.0
"""A server that takes longer needs nothing in hand."""


class Worker:
    """Fetches what it is ordered to, and hands on what was fetched (`intake.py`).

    Where it is told how many fetches it may have open, it is given orders ahead of their time. Each
    is started when a fetch has ended, so that neither it nor the server waits for the coordinator.
    """

    def __init__(
        self, spider: Spider, intake: Intake, send: Send, clock: Clock, most_open: int = 0
    ) -> None:
        self._spider = spider
        self._intake = intake
        self._send = send
        self._clock = clock
        self._most_open = most_open
        self._ahead: deque[Visit] = deque()
        self._moved_at = 0.0
        """When one of these was last started."""

    def begin(self, visits: Sequence[Visit]) -> None:
        """Start fetching on receipt, as far as it may."""
        if not self._most_open:
            self._spider.start(*visits)
            return
        self._ahead += visits
        self._go_on()

    def _go_on(self) -> None:
        """Start what there is a place for."""
        ahead = self._ahead
        count = min(len(ahead), self._most_open - self._spider.open_count())
        if count > 0:
            self._spider.start(*[ahead.popleft() for _ in range(count)])
            self._moved_at = self._clock.monotonic()

    def give_back(self) -> None:
        """Give back what has not been started: it may have to wait, which others see to."""
        if self._ahead:
            self._send(Tag.UNSENT, [visit.trans_id for visit in self._ahead])
            self._ahead.clear()

    def _look_ahead(self, fetches: Sequence[Fetch]) -> None:
        if not HOST_TO_BLAME.isdisjoint([fetch.outcome for fetch in fetches]):
            self.give_back()
        elif fetches:
            self._go_on()
        elif self._clock.monotonic() - self._moved_at > _SLOW_SECONDS:
            # Nobody is to think that these are under way.
            self.give_back()

    def step(self, fetches: Sequence[Fetch]) -> None:
        """Report what has happened, understand what was fetched, sync when it is worth it."""
        started = self._spider.started()
        if started:
            self._send(Tag.STARTED, started)
        working = self._spider.working()
        if working:
            self._send(Tag.WORKING, working)
        if self._ahead:
            self._look_ahead(fetches)
        self._intake.step(fetches, more_comes=bool(self._ahead))

    def flush(self) -> None:
        """Make durable what is not yet, then report it."""
        self._intake.flush()

    def wait_seconds(self) -> float:
        """Return how long the loop may wait for something to happen."""
        seconds = self._intake.wait_seconds(more_comes=bool(self._ahead))
        if not seconds and self._spider.open_count():
            return _COMPANY_SECONDS
        return seconds

    def use_start_urls(self, start_urls: Sequence[str]) -> None:
        """Judge by these what is in scope."""
        self._intake.use_start_urls(start_urls)

    def cancel(self) -> None:
        """End everything that is open and report it as not done."""
        self._intake.flush()
        given_up = [*self._spider.cancel(), *self._ahead]
        self._ahead.clear()
        self._send(Tag.CANCELLED, [visit.doc_id for visit in given_up])

    def close(self) -> None:
        """Finish the archive files."""
        self._intake.close()


def local_worker(assignment: Assignment, spider: Spider, clock: Clock, send: Send) -> Worker:
    """Return a worker inside this process, which shares the coordinator's spider."""
    store = archive_store(assignment, clock)
    return Worker(spider, Intake(assignment, store, Watch.make(), clock, send), send, clock)


def main(arguments: Sequence[str]) -> int:
    """Run a worker process: descriptors of the link and of the watch are its arguments."""
    link, watch, assignment = report_for_duty(arguments)
    clock = SystemClock()
    policy = AddressPolicy.from_bytes(assignment.policy)
    with excused(link):
        settings = assignment.settings
        most = settings.parse.max_sitemap_bytes
        spider = Spider(settings.spider, policy, clock, max_sitemap_bytes=most)
        intake = Intake(assignment, archive_store(assignment, clock), watch, clock, link.send)
    worker = Worker(spider, intake, link.send, clock, assignment.most_open)
    say_ready(link, arguments)
    _serve(link, spider, worker)
    worker.close()
    # Before this process ends, whose memory is taken apart first.
    link.close()
    return 0


def _serve(link: Link, spider: Spider, worker: Worker) -> None:
    stopping = False

    def on_message(*, read: bool = True) -> None:
        nonlocal stopping
        for tag, payload in link.receive(read=read):
            if tag is Tag.ORDERS:
                worker.begin(decode_orders(payload))
            elif tag is Tag.RECALL:
                worker.give_back()
            elif tag is Tag.POLICY:
                spider.use_policy(AddressPolicy.from_bytes(msgspec.msgpack.decode(payload)))
            elif tag is Tag.STOP:
                stopping = True
        if link.closed:
            # The coordinator is gone: nothing may be fetched any more, and nobody would hear of it.
            os._exit(1)

    # What came along with the assignment does not make the descriptor readable any more.
    on_message(read=False)
    spider.watch(link.fileno(), on_message)
    while not stopping:
        worker.step(spider.poll(worker.wait_seconds()))
    worker.cancel()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
