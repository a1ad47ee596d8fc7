"""The Spiders as the coordinator sees them: a crew at the other end of wires (S1.27 to S1.38)."""

from collections.abc import Iterator, Sequence

from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.crawl.crew import Message
from gossamer.crawl.link import Tag
from gossamer.daemons.order_link import OrderLink
from gossamer.daemons.peers import Endpoint
from gossamer.daemons.spider_notes import Notes
from gossamer.messages import Fetch, Visit
from gossamer.spider.spider import Spider


class WireCrew:
    """Spiders in processes of their own, each on a link that is dialled again when it ends."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        secret: bytes | None,
        settings: Settings,
        loop: Spider,
        clock: Clock,
        notes: Notes,
    ) -> None:
        self._clock = clock
        self._links = [OrderLink(each, secret, settings, loop, notes) for each in endpoints]

    def ready(self) -> Sequence[int]:
        """Return the Spiders that are connected and take orders.

        Those that seem to hang are among them only if there are no others.
        """
        now = self._clock.monotonic()
        taking = [number for number, link in enumerate(self._links) if link.room(now)]
        return [each for each in taking if not self._links[each].is_doubtful(now)] or taking

    def room(self, worker: int) -> int:
        """Return how many orders a Spider takes: its credit."""
        return self._links[worker].room(self._clock.monotonic())

    def dispatch(self, worker: int, visits: Sequence[Visit]) -> None:
        """Send orders."""
        self._links[worker].order(visits, self._clock.monotonic())

    def withdraw(self, worker: int, trans_id: int) -> None:
        """Take note that an order was given up: a late DONE is ignored."""
        self._links[worker].withdraw(trans_id, self._clock.monotonic())

    def messages(self) -> Iterator[Message]:
        """Move all links forward; yield what Spiders have said, also before they went."""
        for number, link in enumerate(self._links):
            link.go_on(self._clock.monotonic())
            if link.started:
                started, link.started = link.started, []
                yield number, Tag.STARTED, started
            if link.working:
                working, link.working = link.working, []
                yield number, Tag.WORKING, working
            if link.done:
                done, link.done = link.done, []
                yield number, Tag.DELIVERED, done

    def step(self, fetches: Sequence[Fetch]) -> None:
        """Spiders go on by themselves."""
        del fetches

    def died(self) -> list[tuple[int, int | None]]:
        """Return the Spiders whose links have ended: their orders are lost with them."""
        lost: list[tuple[int, int | None]] = []
        for number, link in enumerate(self._links):
            if link.is_lost:
                link.is_lost = False
                lost.append((number, None))
        return lost

    def overdue(self, now: float, seconds: float) -> list[int]:
        """Spiders parse nothing."""
        del now, seconds
        return []

    def recall(self) -> None:
        """Spiders are given nothing ahead of time."""

    def tell_policy(self, policy: bytes) -> None:
        """Each Spider has an address policy of its own."""

    def wake_at(self) -> float | None:
        """Return when a link has something to do: dial, give up waiting."""
        moments = [link.wake_at() for link in self._links]
        return min((moment for moment in moments if moment is not None), default=None)

    def stop(self) -> None:
        """End all links; a Spider drops what is open on a link that ends."""
        for link in self._links:
            link.close()

    def running(self) -> bool:
        """Whether something is left to wait for after `stop`: nothing is."""
        return False

    def kill(self) -> None:
        """End all links."""
        self.stop()

    def process_ids(self) -> list[int]:
        """Return none: Spiders count their own memory."""
        return []
