"""The workers as the coordinator sees them: orders go out, messages come in, deaths are noticed."""

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from gossamer import errors
from gossamer.crawl.launch import Launched
from gossamer.crawl.link import (
    Assignment,
    Deposit,
    Link,
    Tag,
    decode_ids,
    decode_report,
    decode_started,
    decode_unfit,
    decode_void,
)
from gossamer.messages import Fetch, Visit

Message = tuple[int, Tag, Any]

UNLIMITED: Final = 1 << 31
_MAX_STILLBORN: Final = 5
_MAX_FRUITLESS: Final = 20

_DECODE: Final[dict[Tag, Callable[[bytes], Any]]] = {
    Tag.STARTED: decode_started,
    Tag.WORKING: decode_ids,
    Tag.REPORT: decode_report,
    Tag.VOID: decode_void,
    Tag.CANCELLED: decode_ids,
    Tag.UNSENT: decode_ids,
    Tag.READY: msgspec.msgpack.decode,
}


class Crew(Protocol):
    """Some workers, numbered from 0."""

    def ready(self) -> Sequence[int]:
        """Return the numbers of the workers that take orders."""
        ...

    def room(self, worker: int) -> int:
        """Return how many orders a worker that is ready would take now."""
        ...

    def withdraw(self, worker: int, trans_id: int) -> None:
        """Take note that an order was given up: what the worker still says of it is void."""
        ...

    def wake_at(self) -> float | None:
        """Return when the crew has something to do that no descriptor tells; None: nothing."""
        ...

    def dispatch(self, worker: int, visits: Sequence[Visit]) -> None:
        """Send orders to a worker."""
        ...

    def messages(self) -> Iterator[Message]:
        """Yield what workers have said."""
        ...

    def step(self, fetches: Sequence[Fetch]) -> None:
        """Let workers inside this process go on with what their spider has brought."""
        ...

    def died(self) -> list[tuple[int, int | None]]:
        """Return workers that have ended, each once, with what it was parsing; replace them."""
        ...

    def overdue(self, now: float, seconds: float) -> list[int]:
        """Return workers that have been parsing one document for longer than this, and end them."""
        ...

    def recall(self) -> None:
        """Have all workers give back what they were given ahead of time and have not started."""
        ...

    def tell_policy(self, policy: bytes) -> None:
        """Give all workers a new address policy."""
        ...

    def stop(self) -> None:
        """Ask all workers to cancel what is open and end."""
        ...

    def running(self) -> bool:
        """Whether any worker has not ended."""
        ...

    def kill(self) -> None:
        """End all workers now."""
        ...

    def process_ids(self) -> list[int]:
        """Return the processes, for measuring memory."""
        ...


class LocalWorker(Protocol):
    """A worker inside this process: the ring's own, or the store server's."""

    def begin(self, orders: Any, /) -> None:
        """Take orders."""
        ...

    def step(self, fetches: Sequence[Fetch], /) -> None:
        """Go on with what has arrived."""
        ...

    def flush(self) -> None:
        """Make durable what is not yet, then report it."""
        ...

    def use_start_urls(self, start_urls: Sequence[str], /) -> None:
        """Judge by these what is in scope."""
        ...

    def cancel(self) -> None:
        """End everything that is open and report it as not done."""
        ...

    def close(self) -> None:
        """Finish the archive files."""
        ...


class LocalCrew:
    """One worker inside this process (`--workers 0`): simple to debug, and what tests use."""

    def __init__(self, make_worker: Callable[[Callable[[Tag, object], None]], LocalWorker]) -> None:
        self._inbox: list[Message] = []
        self._worker = make_worker(lambda tag, payload: self._inbox.append((0, tag, payload)))
        self._running = True

    def ready(self) -> Sequence[int]:
        """Return the only worker."""
        return (0,) if self._running else ()

    def room(self, worker: int) -> int:
        """Return that it takes whatever comes: the ledger sets the limit."""
        del worker
        return UNLIMITED

    def withdraw(self, worker: int, trans_id: int) -> None:
        """Nothing to do: the URL server ignores what is said of an order that it gave up."""

    def wake_at(self) -> float | None:
        """Return that descriptors tell all there is."""
        return None

    def dispatch(self, worker: int, visits: Sequence[Visit] | Sequence[Deposit]) -> None:
        """Start fetching, or take what was fetched."""
        del worker
        self._worker.begin(visits)

    def unsent_bytes(self, worker: int) -> int:
        """Return that nothing is on its way."""
        del worker
        return 0

    def messages(self) -> Iterator[Message]:
        """Yield what the worker has said since the last call."""
        inbox, self._inbox = self._inbox, []
        yield from inbox

    def step(self, fetches: Sequence[Fetch]) -> None:
        """Let the worker understand what was fetched."""
        if self._running:
            self._worker.step(fetches)
            self._worker.flush()

    def died(self) -> list[tuple[int, int | None]]:
        """A part of this process cannot die alone."""
        return []

    def overdue(self, now: float, seconds: float) -> list[int]:
        """Nobody could look while it is busy."""
        del now, seconds
        return []

    def recall(self) -> None:
        """Nothing to do: it is given nothing ahead of time."""

    def tell_policy(self, policy: bytes) -> None:
        """The spider is shared: it has the policy already."""

    def tell_start_urls(self, start_urls: Sequence[str]) -> None:
        """Have it judge by these what is in scope."""
        self._worker.use_start_urls(start_urls)

    def stop(self) -> None:
        """Cancel what is open."""
        if self._running:
            self._running = False
            self._worker.cancel()
            self._worker.close()

    def running(self) -> bool:
        """Whether it has not been stopped."""
        return self._running

    def kill(self) -> None:
        """Nothing to end."""
        self._running = False

    def process_ids(self) -> list[int]:
        """Return none: the process counts itself."""
        return []


class _Member:
    """One worker process."""

    def __init__(self, launched: Launched, assignment: Assignment) -> None:
        self.launched = launched
        self.watch = launched.watch
        self.link = Link(launched.end, blocking=False)
        self.ready = False
        self.link.send(Tag.HELLO, assignment)


class ProcessCrew:
    """Worker processes, each replaced when it dies."""

    def __init__(
        self,
        count: int,
        assignment: Assignment,
        watch_descriptor: Callable[[int, Callable[[], None]], None],
        unwatch_descriptor: Callable[[int], None],
        launched: Sequence[Launched] = (),
        *,
        launch: Callable[[], Launched] = Launched,
        orders: Tag = Tag.ORDERS,
        most_open: int = 0,
    ) -> None:
        """Start workers.

        `launched`: workers that somebody has started for us, and sees to the end of. `most_open`:
        how many fetches all of them may have open together, if they are to see to that.
        """
        self._most_open = most_open
        self._count = count
        self._lent = frozenset(launched)
        self._launch = launch
        self._orders = orders
        self._assignment = assignment
        self._watch_descriptor = watch_descriptor
        self._unwatch_descriptor = unwatch_descriptor
        self._serial = 0
        self._speaking: list[_Member] = []
        self._stillborn = 0
        """Workers in a row that ended before they were ready."""
        self._fruitless = 0
        """Workers in a row that ended before any of them reported anything."""
        self._stopping = False
        self._waiting = list(launched)
        self._members = [self._recruit(number) for number in range(count)]
        self._gone: set[int] = set()

    def ready(self) -> Sequence[int]:
        """Return the workers that have said READY."""
        return [number for number, member in enumerate(self._members) if member.ready]

    def room(self, worker: int) -> int:
        """Return that it takes whatever comes: the ledger sets the limit."""
        del worker
        return UNLIMITED

    def withdraw(self, worker: int, trans_id: int) -> None:
        """Nothing to do: the URL server ignores what is said of an order that it gave up."""

    def wake_at(self) -> float | None:
        """Return that descriptors tell all there is."""
        return None

    def dispatch(self, worker: int, visits: Sequence[Visit] | Sequence[Deposit]) -> None:
        """Send orders."""
        self._members[worker].link.send(self._orders, visits)

    def unsent_bytes(self, worker: int) -> int:
        """Return how much of what a worker was sent its socket has not taken yet."""
        return self._members[worker].link.waiting_bytes

    def messages(self) -> Iterator[Message]:
        """Yield what has arrived from all workers, also the last words of dead ones."""
        for member in self._members:
            if member.link.waiting_bytes:
                member.link.flush()
        speaking, self._speaking = self._speaking, []
        for member in speaking:
            if member not in self._members or member.link.closed:
                continue
            number = self._members.index(member)
            for tag, payload in member.link.receive():
                if tag is Tag.UNFIT:
                    kind, text = decode_unfit(payload)
                    raise getattr(errors, kind)(text)
                if tag is Tag.READY:
                    member.ready = True
                    self._stillborn = 0
                elif tag is Tag.REPORT:
                    self._fruitless = 0
                yield number, tag, _DECODE[tag](payload)

    def step(self, fetches: Sequence[Fetch]) -> None:
        """Worker processes go on by themselves."""
        del fetches

    def died(self) -> list[tuple[int, int | None]]:
        """Reap workers whose link has closed; replace them unless we are stopping."""
        deaths: list[tuple[int, int | None]] = []
        for number, member in enumerate(self._members):
            if number in self._gone or not member.link.closed:
                continue
            current = member.watch.current()
            deaths.append((number, current[0] if current else None))
            self._gone.add(number)
            if self._stopping and member.launched in self._lent:
                # It was told to end, and has said all. To give its memory back takes it longer than
                # what comes next; who has lent it waits for that.
                self._unwatch_descriptor(member.link.fileno())
                continue
            self._end(member)
            member.launched.close()
            if not self._stopping:
                self._look_into_death(member)
                self._members[number] = self._recruit(number)
                self._gone.remove(number)
        return deaths

    def _look_into_death(self, member: _Member) -> None:
        """Give up when no worker lives long enough for anything: the next one would not either.

        What they fetch would be fetched again and again.
        """
        self._stillborn += not member.ready
        self._fruitless += 1
        if self._stillborn >= _MAX_STILLBORN and not self.ready():
            raise _hopeless(self._stillborn, "before they could begin")
        if self._fruitless >= _MAX_FRUITLESS:
            raise _hopeless(self._fruitless, "before they reported anything")

    def overdue(self, now: float, seconds: float) -> list[int]:
        """End workers that are stuck in one document; `died` then tells which it was."""
        stuck: list[int] = []
        for number, member in enumerate(self._members):
            current = None if number in self._gone else member.watch.current()
            if current is not None and now - current[1] > seconds:
                member.launched.process.send_signal(signal.SIGKILL)
                stuck.append(number)
        return stuck

    def recall(self) -> None:
        """Ask all workers for what they have not started."""
        self._tell(Tag.RECALL, None)

    def tell_policy(self, policy: bytes) -> None:
        """Give all workers, and those to come, a new address policy."""
        self._assignment = msgspec.structs.replace(self._assignment, policy=policy)
        self._tell(Tag.POLICY, policy)

    def tell_start_urls(self, start_urls: Sequence[str]) -> None:
        """Have all workers, and those to come, judge by these what is in scope."""
        self._assignment = msgspec.structs.replace(self._assignment, start_urls=tuple(start_urls))
        self._tell(Tag.START_URLS, start_urls)

    def _tell(self, tag: Tag, payload: object) -> None:
        for number, member in enumerate(self._members):
            if number not in self._gone:
                member.link.send(tag, payload)

    def stop(self) -> None:
        """Ask all workers to cancel what is open and end."""
        self._stopping = True
        for number, member in enumerate(self._members):
            if number not in self._gone:
                member.link.send(Tag.STOP, None)

    def running(self) -> bool:
        """Whether any worker has not ended."""
        return len(self._gone) < len(self._members)

    def kill(self) -> None:
        """End all workers now."""
        self._stopping = True
        for number, member in enumerate(self._members):
            if number not in self._gone:
                self._end(member)
                member.launched.close()
                self._gone.add(number)

    def process_ids(self) -> list[int]:
        """Return the processes that run; one that has not begun yet is not waited for."""
        return [
            member.launched.process.pid
            for number, member in enumerate(self._members)
            if number not in self._gone and member.ready
        ]

    def _recruit(self, number: int) -> _Member:
        self._serial += 1
        each, rest = divmod(self._most_open, self._count)
        launched = self._waiting.pop() if self._waiting else self._launch()
        assignment = msgspec.structs.replace(
            self._assignment, name=f"w{self._serial}", most_open=each + (number < rest)
        )
        member = _Member(launched, assignment)
        self._watch_descriptor(member.link.fileno(), lambda: self._speaking.append(member))
        return member

    def _end(self, member: _Member) -> None:
        self._unwatch_descriptor(member.link.fileno())
        member.launched.process.kill()
        member.launched.process.wait()


def _hopeless(count: int, when: str) -> errors.ProtocolError:
    return errors.ProtocolError(
        f"{count} worker processes in a row ended {when}; if they said why, it stands above; see "
        "whether this machine has enough memory (fewer workers and less concurrency need less) "
        "and whether handlers of your own end the process, then run the same command again to go on"
    )
