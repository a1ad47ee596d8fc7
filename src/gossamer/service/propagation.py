"""Regular crawling by several data hosts: a batch is claimed on all of them, and crawled on one.

Theory of operation. A batch is selected and held here. Its URLs are claimed at all hosts, one after
another in the order of the ring (S3.18; catalog/propagation_rules.py says why that is enough). What
another host has, or has crawled, leaves the batch, and others are selected in its place. Then the
host with the least to do gets it (S3.19). When it is over, that host tells all others (S3.17,
S3.20), as often as it takes.

Root URLs are not claimed: every host has them and crawls them. A batch with some stays here.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.catalog.batch_facts import BatchOrder
from gossamer.catalog.propagation import SharedBatches
from gossamer.catalog.propagation_holds import Shared, SharedState
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.errors import ServiceError
from gossamer.objects.enumerations import CrawlerType, Operation
from gossamer.objects.hosts import (
    HostClaim,
    HostClaimAnswer,
    HostLoad,
    HostTask,
    HostTaskAnswer,
)
from gossamer.objects.moments import iso_moment
from gossamer.service.guard import Reading, machine_reading
from gossamer.service.peers import Caller, Heard, LoadMeter, choose_host
from gossamer.service.settings import CrawlingSettings, ServiceSettings

_ROUNDS: Final = 3
"""So often a batch is filled up: all hosts find the same URLs on the same root pages."""
_NEWS_AT_ONCE: Final = 200
_LEEWAY_SECONDS: Final = 60.0
"""So much later than the host that crawls a batch its maker gives it up."""


class Asked(Struct):
    """What came of asking for the URLs of one batch."""

    loads: dict[str, HostLoad] = field(default_factory=dict)
    claimed: set[tuple[int, int]] = field(default_factory=set)
    """What was asked for everywhere."""
    is_known: bool = False
    """Whether another host may believe that the batch has something."""


class RefusalError(ServiceError):
    """Another host does not take part: nothing may be crawled before that is settled."""


def order_of(crawling: CrawlingSettings) -> BatchOrder:
    """Return how a batch is crawled: what it finds is not for it, but for all hosts."""
    return BatchOrder(
        int(CrawlerType.NORMAL), crawling.batch_kill_seconds, ttl=crawling.task_ttl_seconds
    )


class Propagation:
    """Makes batches together with other hosts."""

    def __init__(
        self,
        settings: ServiceSettings,
        catalog: ServiceCatalog,
        peers: Caller,
        read: Callable[[], Reading] = machine_reading,
    ) -> None:
        self._settings = settings
        self._crawling = settings.crawling
        self._catalog = catalog
        self._peers = peers
        self._ring = peers.ring
        self._batches = SharedBatches(catalog, self._ring.own, self._ring.others)
        self._meter = LoadMeter(settings.guard, read)
        self._counters: Counter[str] = Counter()
        self._missing: set[str] = set()
        self._complaints: list[str] = []

    # ------------------------------------------------------------------- batches are made

    def crawl(self, now: float) -> Mapping[str, float]:
        """Make a batch of new URLs, if there is room for one, and have it crawled somewhere."""
        self._finish_batches(now)
        size = self._crawling.batch_size
        shared = self._batches.make(
            CrawlerType.NORMAL,
            size,
            now,
            self._crawling.task_ttl_seconds,
            self._crawling.max_batches,
        )
        if shared is not None:
            self._bring_on_its_way(shared, Asked(), now)
        self._deliver(now)
        self._counters["batches_crawl_url_fetch"] += 1
        return self._counted()

    def _finish_batches(self, now: float) -> None:
        """Go on with batches with which this host was interrupted."""
        for shared in self._batches.unfinished(SharedState.HANDED):
            self._order(shared, now, is_first=False)
        for shared in self._batches.unfinished(SharedState.HELD):
            self._bring_on_its_way(shared, Asked(is_known=True), now)

    def _bring_on_its_way(self, shared: Shared, asked: Asked, now: float) -> None:
        size = self._crawling.batch_size
        try:
            for _ in range(_ROUNDS):
                self._claim(shared, asked, now)
                items = self._batches.items(shared)
                asked.claimed = {item.key for item in items}
                room = size - len(items)
                if room <= 0 or not self._batches.fill(shared, room, now):
                    break
            else:
                self._claim(shared, asked, now)
        except RefusalError as error:
            # It stays held, and is tried again with the next run, until its time is over.
            self._counters["batches_crawl_fault"] += 1
            self._complain(str(error))
            return
        self._give_out(shared, asked, now)

    def _claim(self, shared: Shared, asked: Asked, now: float) -> None:
        """Ask for the URLs of a batch at each host in turn, and drop what is refused."""
        granted_by: list[str] = []
        for host in self._ring.hosts:
            if host == self._ring.own:
                self._batches.keep(shared, now)
                # From now on others are told that this batch has them.
                asked.is_known |= bool(self._batches.items(shared))
                continue
            items = [
                item
                for item in self._batches.items(shared)
                if not item.is_root and item.key not in asked.claimed
            ]
            if not items:
                continue
            claim = HostClaim(
                hosts=self._ring.digest,
                host=shared.holder.host,
                batch=shared.holder.batch,
                items=[item.url for item in items],
            )
            answer = self._claim_answer(host, claim, now)
            if answer is None:
                continue
            asked.loads[host] = answer.load
            pairs = list(zip(items, answer.verdicts, strict=True))
            refused = [pair for pair in pairs if not pair[1].granted]
            asked.is_known |= len(refused) < len(items)
            self._counters["propagation_claims"] += len(items)
            self._counters["propagation_refused"] += len(refused)
            if refused:
                self._batches.drop(
                    shared,
                    refused,
                    now,
                    seconds=self._settings.returning.stuck_seconds,
                    granted_by=granted_by,
                )
            granted_by.append(host)

    def _claim_answer(self, host: str, claim: HostClaim, now: float) -> HostClaimAnswer | None:
        """Return what a host says to a claim; None if it is not there, and no place therefore."""
        heard = self._peers.ask(host, Operation.HOST_CLAIM, claim)
        self._note_presence(host, heard, now)
        if heard.is_refused:
            raise RefusalError(heard.error)
        answer = heard.answer
        if answer is None:
            self._counters["propagation_passed_over"] += 1
            return None
        if not isinstance(answer, HostClaimAnswer) or len(answer.verdicts) != len(claim.items):
            raise RefusalError(f"{host} answered a claim with something else")
        return answer

    # --------------------------------------------------------------- batches are given out

    def _give_out(self, shared: Shared, asked: Asked, now: float) -> None:
        items = self._batches.items(shared)
        if not items and not asked.is_known:
            self._batches.abandon(shared, now)
            return
        open_batches = self._catalog.open_batches(CrawlerType.NORMAL)
        own = self._meter.measure(open_batches, self._crawling.max_batches)
        executor = choose_host(self._ring.own, {**asked.loads, self._ring.own: own})
        stays = executor == self._ring.own or not items or any(item.is_root for item in items)
        if items:
            self._counters["batches_crawl_total"] += 1
            self._counters["batches_crawl_urls"] += len(items)
            self._counters["batches_crawl_filled"] += len(items) >= self._crawling.batch_size
        if stays:
            self._batches.begin(shared, order_of(self._crawling), now)
            return
        seconds = self._crawling.task_ttl_seconds + self._crawling.batch_kill_seconds
        self._batches.hand_over(shared, executor, now, seconds + _LEEWAY_SECONDS)
        self._order(Shared(shared.id, shared.holder, executor), now, is_first=True)

    def _order(self, shared: Shared, now: float, *, is_first: bool) -> None:
        """Tell another host to crawl a batch; safe to repeat. If it cannot, it is crawled here."""
        task = HostTask(
            hosts=self._ring.digest,
            host=shared.holder.host,
            batch=shared.holder.batch,
            items=[item.url for item in self._batches.items(shared)],
        )
        heard = self._peers.ask(shared.executor, Operation.HOST_TASK, task)
        self._note_presence(shared.executor, heard, now)
        answer = heard.answer
        if isinstance(answer, HostTaskAnswer) and answer.accepted:
            self._counters["propagation_handed"] += 1
            self._batches.acknowledged(shared, now)
        elif isinstance(answer, HostTaskAnswer) or (
            is_first and (heard.is_refused or heard.is_down)
        ):
            self._batches.begin(shared, order_of(self._crawling), now)
        # Otherwise it may have it, although it does not say so: it is asked again.

    # ------------------------------------------------------------------- batches are over

    def check(self, now: float) -> Mapping[str, float]:
        """Tell the other hosts of batches that are over; give up what takes too long."""
        self._counters["propagation_expired"] += self._batches.expire(now)
        self._deliver(now)
        oldest = now - self._settings.returning.stuck_seconds
        self._counters["propagation_news_lost"] += self._batches.forget_news(oldest, now)
        return self._counted()

    def _deliver(self, now: float) -> None:
        self._counters["propagation_settled"] += self._batches.settle(now)
        for host in self._ring.others:
            for _ in range(_NEWS_AT_ONCE):
                news = self._batches.next_news(host)
                if news is None:
                    break
                done = replace(news.done, hosts=self._ring.digest, sender=self._ring.own)
                heard = self._peers.ask(host, Operation.HOST_DONE, done)
                self._note_presence(host, heard, now)
                if heard.answer is None:
                    self._counters["propagation_news_fault"] += 1
                    if heard.is_refused:
                        self._complain(heard.error)
                    break
                self._batches.told(news, now)
                self._counters["propagation_news"] += 1

    # ----------------------------------------------------------------------------- notes

    def take_complaints(self) -> list[str]:
        """Return what administrators should know; it is told once."""
        complaints, self._complaints = self._complaints, []
        return complaints

    def _note_presence(self, host: str, heard: Heard, now: float) -> None:
        """Complain once about a host that is gone, and say when it is back."""
        # With the time, because it may happen again, and what was said before is not repeated.
        if heard.answer is None and not heard.is_refused:
            if host not in self._missing:
                self._missing.add(host)
                self._complain(f"{heard.error}; passed over from {iso_moment(now)} on")
        elif host in self._missing:
            self._missing.discard(host)
            self._complain(f"{host} is back since {iso_moment(now)}")

    def _complain(self, text: str) -> None:
        if text not in self._complaints:
            self._complaints.append(text)

    def _counted(self) -> Mapping[str, float]:
        counters, self._counters = self._counters, Counter()
        return {**counters, "propagation_news_queue": self._batches.count_news()}
