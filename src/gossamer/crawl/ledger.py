"""The account of what is out: ordered, transferred, reported, committed.

A visit is *in flight* from its order until DONE, and *uncommitted* from its order until the
transaction with its findings. Both are bounded: the first is the concurrency the user asked for;
the second is what a crash may cost in fetches done again.
"""

from collections.abc import Iterable

from msgspec import Struct

from gossamer.messages import Due, Findings


class Out(Struct):
    """A visit that a worker has been ordered to make."""

    due: Due
    worker: int
    transferred: bool = False


class Ledger:
    """Counts; decides nothing but how many more orders may go out."""

    def __init__(self, concurrency: int, max_uncommitted: int, max_pages: int, pages: int) -> None:
        self._concurrency = concurrency
        self._max_uncommitted = max_uncommitted
        self._max_pages = max_pages
        self._out: dict[int, Out] = {}
        self._load: dict[int, int] = {}
        self._waiting_pages = 0
        self.pages = pages
        self.in_flight = 0
        self.waiting = 0

    @property
    def uncommitted(self) -> int:
        """Visits ordered whose findings are not committed yet."""
        return len(self._out) + self.waiting

    @property
    def limit_reached(self) -> bool:
        """Whether the page limit has been reached."""
        return 0 < self._max_pages <= self.pages

    def credit(self) -> int:
        """Return how many more orders may go out now."""
        credit = min(self._concurrency - self.in_flight, self._max_uncommitted - self.uncommitted)
        if self._max_pages:
            may_become_pages = len(self._out) + self._waiting_pages
            credit = min(credit, self._max_pages - self.pages - may_become_pages)
        return max(credit, 0)

    def ordered(self, trans_id: int, due: Due, worker: int) -> None:
        """Note an order."""
        self._out[trans_id] = Out(due, worker)
        self.in_flight += 1
        self._load[worker] = self._load.get(worker, 0) + 1

    def transferred(self, trans_id: int) -> None:
        """Note a DONE."""
        out = self._out.get(trans_id)
        if out is not None:
            self._landed(out)

    def reported(self, findings: Findings) -> bool:
        """Note findings; False when they belong to a visit that was given up meanwhile."""
        out = self._out.pop(findings.trans_id, None)
        if out is None:
            return False
        self._landed(out)
        self.waiting += 1
        self._waiting_pages += findings.is_page
        return True

    def committed(self, findings: Iterable[Findings], pages: int) -> None:
        """Note that findings are in the catalog, which now counts this many pages."""
        for finding in findings:
            self.waiting -= 1
            self._waiting_pages -= finding.is_page
        self.pages = pages

    def take_back(self, trans_id: int) -> Due | None:
        """Forget one order, for whatever reason; return what it was about."""
        out = self._out.pop(trans_id, None)
        if out is None:
            return None
        self._landed(out)
        return out.due

    def of_worker(self, worker: int) -> dict[int, Out]:
        """Return the orders a worker has not reported on."""
        return {trans_id: out for trans_id, out in self._out.items() if out.worker == worker}

    def by_document(self, doc_ids: Iterable[int]) -> list[int]:
        """Return the trans ids of these documents' orders."""
        wanted = set(doc_ids)
        return [trans_id for trans_id, out in self._out.items() if out.due.doc_id in wanted]

    def everything(self) -> list[int]:
        """Return the trans ids of all orders that are out."""
        return list(self._out)

    def load(self, worker: int) -> int:
        """Return how many visits a worker has in flight."""
        return self._load.get(worker, 0)

    def _landed(self, out: Out) -> None:
        """Count a visit out of flight, once."""
        if not out.transferred:
            out.transferred = True
            self.in_flight -= 1
            self._load[out.worker] -= 1
