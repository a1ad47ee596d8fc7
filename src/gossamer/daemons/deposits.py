"""What the store server has received and not saved yet, and how far each link's results are saved.

Theory of operation. A result becomes a deposit when the document it belongs to is known. Of one
document there is one deposit at a time; a second result for it shares the fate of the first. A
deposit waits for a worker, is with a worker, or is reported: then its bytes are in the archive, and
it waits only for its transaction. It is *settled* by that transaction. What a worker lost, or could
not keep, waits again; nothing leaves here otherwise.

Pure: no clock, no socket.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from gossamer.crawl.link import Deposit
from gossamer.messages import Due, Visit
from gossamer.wire.results import Result


class Account:
    """How far the results of one link are saved: the first `saved` of them."""

    def __init__(self) -> None:
        self.taken = 0
        self.saved = 0
        self._early: set[int] = set()
        """Places of results that were saved before one that came earlier."""

    def take(self) -> int:
        """Give the next result its place."""
        place = self.taken
        self.taken += 1
        return place

    def settle(self, place: int) -> None:
        """Note that the result at a place is saved, or knowingly dropped."""
        self._early.add(place)
        while self.saved in self._early:
            self._early.discard(self.saved)
            self.saved += 1


class Arrival(Struct, gc=False):
    """A result that has arrived."""

    result: Result
    account: Account
    place: int
    received_at: float
    """Wall time."""

    def settle(self) -> None:
        """Note that nothing more is to be done for it."""
        self.account.settle(self.place)


class Held(Struct):
    """A deposit: a result whose document is known."""

    number: int
    due: Due
    result: Result | None
    """None when a worker has reported it: its bytes are in the archive."""
    received_at: float
    size: int
    arrivals: list[Arrival] = field(default_factory=list)
    """Those that are settled with it: its own, and repetitions."""
    deaths: int = 0
    """How many workers have ended while they parsed it."""

    def parcel(self) -> Deposit:
        """Return what a worker is handed."""
        due = self.due
        assert self.result is not None
        visit = Visit(
            self.number,
            due.doc_id,
            "",
            due.url,
            depth=due.depth,
            kind=int(due.kind),
            tries=due.tries,
            via=due.via,
            etag=due.etag,
            last_modified=due.last_modified,
        )
        return Deposit(visit, self.result, self.received_at)


class Deposits:
    """All deposits that are not settled."""

    def __init__(self) -> None:
        self._by_document: dict[int, Held] = {}
        self._waiting: deque[Held] = deque()
        self._next_number = 1
        self.bytes = 0
        """How much memory the documents take."""

    def __len__(self) -> int:
        return len(self._by_document)

    @property
    def waiting(self) -> int:
        """How many wait for a worker."""
        return len(self._waiting)

    def add(self, arrival: Arrival, due: Due) -> bool:
        """Enter a result of a document; False when there is one of it already."""
        known = self._by_document.get(due.doc_id)
        if known is not None:
            known.arrivals.append(_emptied(arrival))
            return False
        result = arrival.result
        size = len(result.document)
        held = Held(self._next_number, due, result, arrival.received_at, size)
        held.arrivals.append(_emptied(arrival))
        self._next_number += 1
        self._by_document[due.doc_id] = held
        self._waiting.append(held)
        self.bytes += size
        return True

    def next(self) -> Held | None:
        """Return the deposit that is to be handed out next, which no longer waits."""
        return self._waiting.popleft() if self._waiting else None

    def reported(self, doc_ids: Iterable[int]) -> None:
        """Let go of the bytes of deposits that are in the archive."""
        for held in self._of(doc_ids):
            held.result = None
            self.bytes -= held.size
            held.size = 0

    def again(self, doc_ids: Iterable[int]) -> None:
        """Hand these out once more, before all others."""
        self._waiting.extendleft([held for held in self._of(doc_ids) if held.result is not None])

    def died(self, doc_id: int) -> int:
        """Note that a worker ended over a document; return how many have."""
        held = self._by_document.get(doc_id)
        if held is None:
            return 0
        held.deaths += 1
        return held.deaths

    def due_of(self, doc_id: int) -> Due | None:
        """Return what a deposit is about."""
        held = self._by_document.get(doc_id)
        return None if held is None else held.due

    def settle(self, doc_ids: Iterable[int]) -> int:
        """Note that documents are committed; return how many results that settles."""
        settled = 0
        for held in self._of(doc_ids):
            del self._by_document[held.due.doc_id]
            self.bytes -= held.size
            for arrival in held.arrivals:
                arrival.settle()
            settled += len(held.arrivals)
        return settled

    def _of(self, doc_ids: Iterable[int]) -> Iterator[Held]:
        for doc_id in doc_ids:
            held = self._by_document.get(doc_id)
            if held is not None:
                yield held


def _emptied(arrival: Arrival) -> Arrival:
    """Let go of the result: the deposit has it, or has another."""
    arrival.result = _NOTHING
    return arrival


_NOTHING = Result(0, False, 0, 0, 0, b"")
