"""Mishaps: what becomes of URLs whose worker died, was silent, or could not keep the bytes."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gossamer.catalog.catalog import Catalog
from gossamer.crawl.link import Void
from gossamer.crawl.parts import Parts
from gossamer.crawl.supply import Supply
from gossamer.messages import Due
from gossamer.outcomes import RULES, Outcome

_MAX_DEATHS: Final = 2


class Mishaps:
    """Makes URLs due again, or ends those that would never come to an end."""

    def __init__(self, parts: Parts, supply: Supply) -> None:
        self._clock = parts.clock
        self._urlserver = parts.urlserver
        self._crew = parts.crew
        self._keeper = parts.keeper
        self._ledger = parts.ledger
        self._max_retries = parts.settings.urlserver.max_retries
        self._supply = supply

    def bury(self, worker: int, doc_id: int | None, now: float) -> None:
        """A worker died: what it had not reported is due again; a page that kills twice is out."""
        orders = self._ledger.of_worker(worker)
        for trans_id in orders:
            self._ledger.take_back(trans_id)
        suspects = {trans_id: due for trans_id, due in orders.items() if due.doc_id == doc_id}
        self._urlserver.forget(suspects, now)
        self._urlserver.lost(orders.keys() - suspects.keys(), now)
        for due in suspects.values():
            self._suspect(due)

    def _suspect(self, due: Due) -> None:
        """A worker died over this document: once may be chance, twice is the document."""
        wall = self._clock.time()

        def judge(catalog: Catalog) -> bool:
            if catalog.deaths([due.doc_id]).get(due.doc_id, 0) + 1 >= _MAX_DEATHS:
                return True
            catalog.release([due.doc_id], wall, died=True)
            return False

        def then(poisonous: bool) -> None:
            if poisonous:
                detail = f"ended {_MAX_DEATHS} workers while being parsed"
                self._keeper.conclude(due, Outcome.PARSE_BUDGET, detail)
            else:
                self._ledger.held -= 1
            self._supply.more_now()

        self._keeper.write(judge, then)

    def void(self, void: Void) -> None:
        """The archive refused: nothing was acknowledged, so the URLs are simply due again."""
        self.give_back(self._ledger.by_document(void.doc_ids))
        self._keeper.pause("disk" if void.disk_full else "archive", void.detail)

    def give_back(self, trans_ids: Sequence[int]) -> None:
        """Let orders count as never made."""
        taken = [self._ledger.take_back(trans_id) for trans_id in trans_ids]
        self._urlserver.forget(trans_ids, self._clock.monotonic())
        self.release([due.doc_id for due in taken if due is not None])

    def release(self, doc_ids: Sequence[int], due_at: float = 0.0) -> None:
        """Return leases unused."""
        if not doc_ids:
            return
        wall = self._clock.time()

        def then(released: int) -> None:
            del released
            self._ledger.held -= len(doc_ids)
            self._supply.more_now()

        self._keeper.write(lambda catalog: catalog.release(doc_ids, wall, due_at=due_at), then)

    def withdraw_overdue(self, now: float) -> None:
        """Take back orders that nobody has spoken of for too long."""
        for trans_id, due, given_up in self._urlserver.overdue(now):
            worker = self._ledger.worker_of(trans_id)
            if worker is not None:
                self._crew.withdraw(worker, trans_id)
            self._ledger.take_back(trans_id)
            if given_up:
                self._give_up(due)

    def _give_up(self, due: Due) -> None:
        """Conclude a URL for good about which spiders never said a word, however often asked."""
        outcome = Outcome.NET_TIMEOUT_TOTAL
        orders = due.tries + self._max_retries
        tried = replace(due, tries=max(orders, RULES[outcome].tries))
        self._keeper.conclude(tried, outcome, "the spider never said what became of it")
