"""What other hosts ask of this one: to leave URLs to them, to crawl a batch, to hear of its end."""

from typing import Final

from gossamer.catalog.batch_facts import BatchOrder, Memo, Wanted
from gossamer.catalog.batches import BatchCommit
from gossamer.catalog.propagation_holds import PROPAGATION, Holds, SharedState
from gossamer.catalog.propagation_rules import (
    Change,
    Holder,
    Judgement,
    after_news,
    judge,
)
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import changing
from gossamer.catalog.site_book import BATCHES
from gossamer.objects.hosts import HostClaim, HostDone, HostTask, HostTaskAnswer, HostVerdict
from gossamer.objects.normal import identified_url
from gossamer.objects.url import URL

_REMEMBERED_SECONDS: Final = 86_400.0
_GRANTED: Final = Judgement(True)


class Claims:
    """Answers other hosts, each time in one transaction.

    What a host was granted and never speaks of again is free after `keep_seconds`.
    """

    def __init__(self, catalog: ServiceCatalog, keep_seconds: float) -> None:
        self._catalog = catalog
        self._keep_seconds = keep_seconds

    def claim(self, claim: HostClaim, now: float) -> list[HostVerdict]:
        """Decide about each URL whether a batch of another host may have it (S3.18)."""
        urls = [identified_url(url) for url in claim.items]
        holder = Holder(claim.host, claim.batch)
        with changing(self._catalog, "leave URLs to another host", now) as transaction:
            holds = Holds(transaction)
            shared = self._known(holds, holder, now)
            if shared is None:
                # A message that was long on its way: the batch is over.
                return [HostVerdict(granted=True) for _ in urls]
            return [_verdict(_decide(holds, url, shared, holder)) for url in urls]

    def _known(self, holds: Holds, holder: Holder, now: float) -> int | None:
        """Return the number of a batch here; None if it is over."""
        known = holds.known(holder)
        if known is None:
            return holds.learn(holder, SharedState.ELSEWHERE, now + self._keep_seconds)
        return None if known[1] is SharedState.OVER else known[0]

    def take(
        self, task: HostTask, order: BatchOrder, max_batches: int, now: float
    ) -> HostTaskAnswer:
        """Crawl a batch of another host, unless enough are open (S3.19); safe to ask twice.

        A URL without a record here gets one from what came along with it (S3.46).
        """
        urls = [identified_url(url) for url in task.items]
        holder = Holder(task.host, task.batch)
        with changing(self._catalog, "take over a batch", now) as transaction:
            connection = transaction.connection
            holds = Holds(transaction)
            known = holds.known(holder)
            if known is not None and known[1] is not SharedState.ELSEWHERE:
                return HostTaskAnswer(accepted=True)
            (count,) = connection.execute(BATCHES["open_batches"], (order.kind,)).fetchone()
            if count >= max_batches:
                return HostTaskAnswer(reason=f"{count} batches are open")
            shared = self._known(holds, holder, now) or 0
            for url in urls:
                _decide(holds, url, shared, holder)
            rows = connection.execute(PROPAGATION["selected_of"], (shared,)).fetchall()
            commit = BatchCommit(connection, transaction.memory, Memo(), now)
            batch_id, taken = commit.accept(order, [Wanted(*row) for row in rows])
            connection.execute(PROPAGATION["crawled_here"], (batch_id, shared))
            holds.release_some(set(rows) - set(taken))
            return HostTaskAnswer(accepted=True)

    def done(self, done: HostDone, now: float) -> int:
        """Hear that a batch is over (S3.17); return how many URLs it concerned."""
        urls = [identified_url(url) for url in done.crawled]
        holder = Holder(done.host, done.batch)
        until = now + _REMEMBERED_SECONDS
        with changing(self._catalog, "hear of a batch", now) as transaction:
            holds = Holds(transaction)
            count = sum(_crawled_elsewhere(holds, url, holder) for url in urls)
            known = holds.known(holder)
            if not done.is_over:
                pass
            elif known is None:
                holds.learn(holder, SharedState.OVER, until)
            elif known[1] is not SharedState.CRAWLED_HERE:
                count += holds.release(known[0])
                holds.set_state(known[0], SharedState.OVER, until)
            return count


def _decide(holds: Holds, url: URL, shared: int, holder: Holder) -> Judgement:
    site = holds.site(url.site_id)
    if site is None:
        # This host will never crawl it.
        return _GRANTED
    doc_id, row = holds.find(site, url.url)
    judgement = judge(row, holder, url.crawled)
    if judgement.change is Change.INSERT:
        holds.insert(site, url, shared, holder)
    elif judgement.change is Change.HOLD and doc_id is not None:
        holds.hold(site, doc_id, shared, holder)
    elif judgement.change is Change.NEW and doc_id is not None:
        holds.settle(site, doc_id, Change.NEW)
    return judgement


def _verdict(judgement: Judgement) -> HostVerdict:
    holder = judgement.holder or Holder("", 0)
    return HostVerdict(
        granted=judgement.granted,
        crawled=judgement.crawled,
        holder=holder.host,
        batch=holder.batch,
    )


def _crawled_elsewhere(holds: Holds, url: URL, holder: Holder) -> bool:
    site = holds.site(url.site_id)
    if site is None:
        return False
    doc_id, row = holds.find(site, url.url)
    change = after_news(row, holder, crawled=True)
    if change is Change.INSERT:
        holds.insert_crawled(site, url)
    elif change is Change.CRAWLED and doc_id is not None:
        holds.settle(site, doc_id, change)
    return change is not Change.NOTHING
