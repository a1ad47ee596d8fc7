"""What a catalog in memory holds: plain objects, each of which is changed where it stands.

Theory of operation. A URL is one `Entry`, found by its number (its place in a list) or by its md5.
What waits stands in heaps of its host (`Host`), under keys that sort as it is to be leased. Nothing
is ever looked for in a heap: who leaves the state in which it was put there leaves its key behind,
and a key counts when it comes up only if its entry still is what the key says.
Structs that hold no cycles are left out of the collector's work (`gc=False`).
"""

from array import array
from collections.abc import Sequence
from heapq import heappush
from typing import Final

from msgspec import Struct

from gossamer.catalog.catalog import FetchRow, HostClock, RobotsRecord, Surveyed, TrapCount
from gossamer.catalog.judging import MAX_DOC_ID
from gossamer.errors import CatalogError
from gossamer.messages import Findings, Pointer
from gossamer.outcomes import Outcome, State

STATES: Final = len(State)
_PENDING: Final = int(State.PENDING)
_MAX_TEXTS: Final = 10_000

Plan = tuple[int, int, float | None]
"""How often a URL was visited and had changed, and the seconds until its next visit: one object
for all that were visited once."""
NEVER_VISITED: Final[Plan] = (0, 0, None)
Wait = tuple[float, int, int]
"""When a URL is due, the reverse of its priority, its number."""


class Host:
    """A host: its counters, its clock, and its URLs that wait."""

    __slots__ = (
        "clock",
        "counts",
        "fresh",
        "host_id",
        "name",
        "next_due_at",
        "probation",
        "retries",
    )

    def __init__(self, host_id: int, name: str) -> None:
        self.host_id = host_id
        self.name = name
        self.counts = [0] * STATES
        """How many URLs are in each state."""
        self.clock = HostClock(host=name)
        self.next_due_at: float | None = None
        """When it gets into the line, unless it is there."""
        self.fresh: list[int] = []
        """A heap: URLs that were never tried, the most urgent first, then the first found."""
        self.retries: list[Wait] = []
        """A heap: URLs that are due at a time."""
        self.probation: list[Wait] = []
        """A heap: URLs on probation."""


class Tries:
    """The history: of each try what a map shows of it, and the rest in columns, which are short."""

    def __init__(self) -> None:
        self.documents: list[Surveyed] = []
        """As they were at that time, by the numbers of tries, which begin with 1."""
        self._previous = array("Q")
        self._fetched_at = array("d")
        self._wire_bytes = array("Q")
        self._etags: list[str | None] = []
        self._last_modified: list[str | None] = []
        self._pointers: dict[int, Pointer] = {}
        self._digests: dict[int, str] = {}
        self._texts: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.documents)

    def add(
        self, findings: Findings, previous: int, etag: str | None, last_modified: str | None
    ) -> int:
        """Take the next one, whose document is there already; return its number.

        `previous`: the number of the try before it, 0 if there was none.
        """
        self._previous.append(previous)
        self._fetched_at.append(findings.fetched_at)
        self._wire_bytes.append(findings.wire_bytes)
        self._etags.append(etag)
        self._last_modified.append(
            self.shared(last_modified) if last_modified is not None else None
        )
        fetch_id = len(self.documents)
        if findings.pointer is not None:
            self._pointers[fetch_id] = findings.pointer
        if findings.payload_digest:
            self._digests[fetch_id] = findings.payload_digest
        return fetch_id

    def shared(self, text: str) -> str:
        """Return an equal text: the one that was kept for all, as long as they are few."""
        kept = self._texts.get(text)
        if kept is not None:
            return kept
        if len(self._texts) < _MAX_TEXTS:
            self._texts[text] = text
        return text

    def validators(self, fetch_id: int) -> tuple[str | None, str | None]:
        """Return what a conditional request needs: ETag and Last-Modified."""
        return self._etags[fetch_id - 1], self._last_modified[fetch_id - 1]

    def pointer(self, fetch_id: int) -> Pointer | None:
        """Return where the archive has it."""
        return self._pointers.get(fetch_id)

    def digest(self, fetch_id: int) -> str:
        """Return the payload digest."""
        return self._digests.get(fetch_id, "")

    def times(self) -> Sequence[float]:
        """Return when each began."""
        return self._fetched_at

    def previous(self, fetch_id: int) -> int:
        """Return the number of the try of the same URL before this one; 0: there was none."""
        return self._previous[fetch_id - 1]

    def row(self, fetch_id: int) -> FetchRow:
        """Return all that is known of one."""
        place = fetch_id - 1
        document = self.documents[place]
        return FetchRow(
            fetch_id=fetch_id,
            fetched_at=self._fetched_at[place],
            outcome=Outcome(document.outcome or 0),
            status=document.status,
            milliseconds=document.milliseconds,
            content_type=document.content_type,
            body_bytes=document.body_bytes,
            wire_bytes=self._wire_bytes[place],
            checksum=document.checksum,
            simhash=document.simhash,
            etag=self._etags[place],
            last_modified=self._last_modified[place],
            pointer=self.pointer(fetch_id),
            payload_digest=self.digest(fetch_id),
            redirect_to=document.redirect_to,
            title=document.title,
            detail=document.detail,
        )


class Entry(Struct, gc=False):
    """A URL."""

    doc_id: int
    url: str
    md5: bytes
    host: Host
    kind: int
    state: int
    outcome: int | None
    depth: int
    priority: int
    parent: int | None
    found_at: float
    via: tuple[str, ...] = ()
    detail: str = ""
    due_at: float = 0.0
    tries: int = 0
    plan: Plan = NEVER_VISITED
    next_fetch_at: float | None = None
    last_fetch: int = 0
    """The number of its latest try; 0: there was none."""
    last_page: int = 0
    """The number of the try that brought its latest document."""
    duplicate_of: int | None = None


class Run(Struct):
    """A run: when it began, and when it ended by itself."""

    began_at: float
    ended_at: float | None = None


class Tables:
    """All that is known."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        """By their numbers, which begin with 1."""
        self.by_md5: dict[bytes, Entry] = {}
        self.hosts: dict[str, Host] = {}
        """In the order of their numbers."""
        self.line: dict[int, Host] = {}
        """Hosts with work that is due, the longest unserved first."""
        self.waits: list[tuple[float, int, Host]] = []
        """A heap: hosts that get into the line at a time."""
        self.tries = Tries()
        self.contents: dict[bytes, int] = {}
        """The first document of each body."""
        self.links: dict[int, bytes] = {}
        self.records: dict[int, tuple[int, str]] = {}
        """What handlers made of documents, by numbers of its own."""
        self.records_of: dict[int, list[int]] = {}
        self.last_record = 0
        self.deaths: dict[int, int] = {}
        self.delivered: dict[int, float] = {}
        self.files: dict[str, int] = {}
        """Up to where each archive file is known to be good."""
        self.robots: dict[str, RobotsRecord] = {}
        self.traps: dict[tuple[str, str], TrapCount] = {}
        self.notes: dict[str, str] = {}
        self.runs: list[Run] = []
        self.totals = [0] * STATES
        self.outcomes: dict[int, int] = {}
        self.pages = 0
        self.duplicates = 0

    def entry(self, doc_id: int) -> Entry | None:
        """Return a document by its number, if there is such a one."""
        return self.entries[doc_id - 1] if 0 < doc_id <= len(self.entries) else None

    def host(self, name: str) -> Host:
        """Return a host, which becomes known if it is not."""
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts[name] = Host(len(self.hosts) + 1, name)
        return host

    def new_doc_id(self) -> int:
        """Return the number of a new URL; there are 2^32 - 1 of them (S0.45)."""
        doc_id = len(self.entries) + 1
        if doc_id > MAX_DOC_ID:
            raise CatalogError(
                "cannot add a URL to the catalog: all 4,294,967,295 document numbers are in use"
            )
        return doc_id

    def judge(self, before: int | None, after: int | None) -> None:
        """Count a URL whose outcome changes."""
        if before == after:
            return
        outcomes = self.outcomes
        if before is not None:
            outcomes[before] -= 1
        if after is not None:
            outcomes[after] = outcomes.get(after, 0) + 1


class Change:
    """Counters of one transaction: gathered while entries change, moved once at its end.

    Whoever asks meanwhile whether a host is open hears what was so before.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._moves: dict[Host, list[int]] = {}
        self._fresh: set[Host] = set()
        self._wakes: dict[Host, float] = {}

    def move(self, host: Host, before: int | None, after: int, count: int = 1) -> None:
        """Count URLs that enter a state other than pending, out of another unless they are new."""
        moves = self._moves.get(host)
        if moves is None:
            moves = self._moves[host] = [0] * STATES
        if before is not None:
            moves[before] -= count
        moves[after] += count

    def put(self, entry: Entry, before: int | None, *, at_once: bool = False) -> None:
        """Count a URL that is pending now, and have it wait for its turn.

        `at_once`: its host may be served at once, whatever time the URL had to wait for.
        """
        host, due_at = entry.host, entry.due_at
        self.move(host, before, _PENDING)
        if at_once or due_at <= 0.0:
            self._fresh.add(host)
        else:
            self._wakes[host] = min(due_at, self._wakes.get(host, due_at))
        enqueue(entry)

    def end(self, now: float) -> None:
        """Move the counters; hosts with new work get into the line."""
        totals = self._tables.totals
        for host, moves in self._moves.items():
            counts = host.counts
            for state, difference in enumerate(moves):
                counts[state] += difference
                totals[state] += difference
        self._line_up(now)

    def _line_up(self, now: float) -> None:
        """Let hosts with fresh work, unless they are parked, into the line; retries wait."""
        fresh, tables = self._fresh, self._tables
        for host in sorted(fresh.union(self._wakes), key=_number_of):
            parked_until = host.clock.parked_until
            is_fresh = host in fresh
            if is_fresh and parked_until > now:
                wake_up(tables, host, parked_until)
                continue
            if is_fresh and host.host_id not in tables.line:
                tables.line[host.host_id] = host
            if host in self._wakes:
                wake_up(tables, host, max(self._wakes[host], parked_until))


def _number_of(host: Host) -> int:
    return host.host_id


def enqueue(entry: Entry) -> None:
    """Put a pending URL among those of its host that wait."""
    host, priority = entry.host, entry.priority
    if priority < 0:
        heappush(host.probation, (entry.due_at, -priority, entry.doc_id))
    elif entry.due_at > 0.0:
        heappush(host.retries, (entry.due_at, -priority, entry.doc_id))
    else:
        heappush(host.fresh, fresh_key(entry))


def fresh_key(entry: Entry) -> int:
    """Return a number that sorts by priority, then by age; its last 32 bits are the document's."""
    # The same object, most of the time.
    return entry.doc_id - (entry.priority << 32) if entry.priority else entry.doc_id


def wake_up(tables: Tables, host: Host, moment: float) -> None:
    """Have a host get into the line at this time at the latest."""
    if host.next_due_at is None or moment < host.next_due_at:
        wait_until(tables, host, moment)


def wait_until(tables: Tables, host: Host, moment: float | None) -> None:
    """Have a host get into the line at this very time; None: it does not wait."""
    if moment is not None and moment != host.next_due_at:
        heappush(tables.waits, (moment, host.host_id, host))
    host.next_due_at = moment
