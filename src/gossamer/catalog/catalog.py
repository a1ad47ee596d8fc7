"""The front of the catalog: what is asked of it, and the records that go in and out."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, Self, runtime_checkable

from msgspec import Struct

from gossamer.messages import Due, Findings, Found, Kind, Pointer
from gossamer.outcomes import Outcome, State

_WORD: Final = 1 << 64


class Verdict(Struct, frozen=True, gc=False):
    """What a visit brought, and what the caller makes of it."""

    findings: Findings
    state: State
    """PENDING (try again at `due_at`), DONE, EXCLUDED or FAILED."""
    due_at: float = 0.0
    """Wall time of the next try, or of the next fetch when done or failed (0.0: by its history)."""


class HostClock(Struct, frozen=True, kw_only=True, gc=False):
    """What politeness remembers of a host between runs; times are wall times."""

    host: str
    next_allowed_at: float = 0.0
    delay_seconds: float = 0.0
    address: str = ""
    failures_in_a_row: int = 0
    parked_until: float = 0.0
    """Nothing of the host is offered before this."""
    parked_reason: str = ""


class TrapCount(Struct, frozen=True, gc=False):
    """How many URLs of one shape a host has shown."""

    host: str
    pattern: str
    urls: int
    reason: str = ""
    """Why the shape is in quarantine; empty while it is not."""


class RobotsRecord(Struct, frozen=True, kw_only=True, gc=False):
    """The last robots.txt of an authority (scheme, host and port)."""

    authority: str
    fetched_at: float
    expires_at: float
    status: int
    outcome: int
    body: bytes = b""
    crawl_delay: float | None = None
    unreachable_since: float | None = None
    failures: int = 0
    detail: str = ""


class Recovery(Struct, frozen=True):
    """What the beginning of a run found."""

    run_id: int
    """Grows with every run: the epoch of its leases."""
    clean: bool
    """Whether the run before ended by itself (or there was none)."""
    released: int
    """How many leases went back to pending."""


class Committed(Struct, frozen=True):
    """What a commit did."""

    applied: int
    new_urls: int
    pages: int
    """How many URLs became pages for the first time."""
    stale: tuple[int, ...] = ()
    """Documents that were not leased any more: their verdicts were ignored."""


class Counts(Struct, frozen=True):
    """Where all URLs stand, read at one moment."""

    discovered: int
    done: int
    pending: int
    leased: int
    excluded: int
    failed: int
    pages: int = 0
    """URLs of kind PAGE for which there is a document, over the life of the workspace."""
    duplicates: int = 0
    hosts: int = 0
    fetches: int = 0


class HostRow(Struct, frozen=True, kw_only=True):
    """A host, as shown to people."""

    host: str
    done: int
    pending: int
    leased: int
    excluded: int
    failed: int
    next_allowed_at: float
    delay_seconds: float
    address: str
    failures_in_a_row: int
    parked_until: float
    parked_reason: str


class FetchRow(Struct, frozen=True, kw_only=True):
    """One try, as the history keeps it."""

    fetch_id: int
    fetched_at: float
    outcome: Outcome
    status: int
    milliseconds: int
    content_type: str
    body_bytes: int
    wire_bytes: int
    checksum: bytes | None
    simhash: int | None
    etag: str | None
    last_modified: str | None
    pointer: Pointer | None
    payload_digest: str
    redirect_to: str | None
    title: str
    detail: str


class UrlRow(Struct, frozen=True, kw_only=True):
    """All that is known of a URL, with its latest try."""

    doc_id: int
    url: str
    md5: bytes
    host: str
    kind: Kind
    state: State
    outcome: Outcome | None
    depth: int
    priority: int
    tries: int
    deaths: int
    found_at: float
    due_at: float
    next_fetch_at: float | None
    visits: int
    changes: int
    via: tuple[str, ...]
    detail: str
    """The reason when there was no try; else that of the latest try."""
    site_id: int = 1
    parent: str | None = None
    duplicate_of: str | None = None
    near_duplicate_of: str | None = None
    fetch: FetchRow | None = None


class Excluded(Struct, frozen=True, gc=False):
    """A URL that was kept out, for another look when the settings have changed."""

    doc_id: int
    url: str
    host: str
    depth: int
    outcome: Outcome | None


class Pending(Struct, frozen=True, gc=False):
    """A URL that waits for its turn, for another look when the settings have changed."""

    doc_id: int
    url: str
    host: str
    depth: int
    kind: Kind


class Learned(Struct, frozen=True, gc=False):
    """What another process found out about a URL, and where the URL stands now."""

    fetch_id: int
    doc_id: int
    host: str
    url: str
    outcome: Outcome
    status: int
    fetched_at: float
    state: State
    due_at: float
    """Wall time of the next try while the state is PENDING."""


class Surveyed(Struct, frozen=True, gc=False):
    """A document with its latest try, its links and what a handler noted; numbers as stored."""

    doc_id: int
    state: int
    outcome: int | None
    detail: str
    status: int
    milliseconds: int
    content_type: str
    body_bytes: int
    checksum: bytes | None
    signed_simhash: int | None
    redirect_to: str | None
    title: str
    targets: bytes = b""
    """Keys of the pages it links to: the first 8 bytes of the md5 of each."""
    record: str = ""
    """The latest record of a handler, as JSON; empty when there is none."""

    @property
    def simhash(self) -> int | None:
        """The fingerprint of the text, if one was taken."""
        return None if self.signed_simhash is None else self.signed_simhash % _WORD


class Notebook(Protocol):
    """Keeps what handlers noted of documents that are done, beside a catalog in memory.

    Nothing is fetched twice there, so that it stays as it was committed.
    """

    def keep(self, records: Sequence[tuple[int, str]]) -> None:
        """Take the numbers of documents that are done, each with its latest record."""
        ...


class Gate(Protocol):
    """Has the last word on URLs about to become known, and remembers what it has counted.

    URLs on probation (`Found.probation`) have a priority below zero: they come after all others,
    and what became of them is told to the gate.
    """

    def begin(self, is_open: Callable[[str], bool]) -> None:
        """Begin a transaction; what was counted in one that has not ended never happened.

        `is_open` tells of a host whether any URL of it has been let in.
        """
        ...

    def admit(self, found: Found) -> Found:
        """Return the URL as it is to be entered: as it is, or excluded."""
        ...

    def judged(self, finder: str, findings: Findings) -> None:
        """Hear what a URL on probation brought; `finder` is the page on which it was found."""
        ...

    def closed(self) -> Sequence[str]:
        """Return hosts with pages whose links are from now on not followed."""
        ...

    def refusal(self, finder: str) -> str | None:
        """Return why what is on probation for being found on this page is not followed."""
        ...

    def changed(self) -> Sequence[TrapCount]:
        """Return the counts that changed in this transaction."""
        ...

    def end(self) -> None:
        """Hear that the transaction is durable."""
        ...


class CatalogReader(Protocol):
    """What anybody may ask, also while other processes write."""

    def counts(self) -> Counts:
        """Return where all URLs stand."""
        ...

    def outcome_counts(self) -> Mapping[Outcome, int]:
        """Return how many URLs ended in each outcome when last tried or judged."""
        ...

    def find(self, url: str) -> UrlRow | None:
        """Return what is known of a canonical URL."""
        ...

    def history(self, doc_id: int) -> list[FetchRow]:
        """Return all tries of a URL, the latest first."""
        ...

    def rows(self) -> Iterator[UrlRow]:
        """Go through all URLs in the order of their discovery, in constant memory."""
        ...

    def links(self) -> Iterator[tuple[str, str]]:
        """Go through the link graph: pairs of known URLs."""
        ...

    def records(self) -> Iterator[tuple[str, str]]:
        """Go through what handlers made of documents: pairs of URL and JSON."""
        ...

    def check(self) -> list[str]:
        """Return what is wrong with the accounting; nothing is the only good answer."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


class Remembered(Protocol):
    """What a run asks about the runs before it, and about what others have changed meanwhile."""

    def next_due_at(self, now: float, held_hosts: Collection[str] = ()) -> float | None:
        """Return when something is or will be due; None when nothing is pending.

        What is due already at hosts that are held does not count.
        """
        ...

    def host_clock(self, host: str) -> HostClock | None:
        """Return the clock of a host."""
        ...

    def robots(self, authority: str) -> RobotsRecord | None:
        """Return the latest robots.txt of an authority."""
        ...

    def traps(self, limit: int = 1_000_000) -> list[TrapCount]:
        """Return the counts of shapes of URLs, those in quarantine first."""
        ...

    def deaths(self, doc_ids: Iterable[int]) -> dict[int, int]:
        """Return how many workers each document has killed, for those that have."""
        ...

    def note(self, key: str) -> str | None:
        """Return a note about the whole crawl."""
        ...

    def excluded(self) -> Iterator[Excluded]:
        """Go through the URLs that were kept out, for another look when settings have changed."""
        ...

    def pending(self) -> Iterator[Pending]:
        """Go through the URLs that wait, for another look when settings have changed."""
        ...

    def known_good(self) -> dict[str, int]:
        """Return up to which offset each archive file is known to be good."""
        ...

    def data_version(self) -> int:
        """Return a number that differs from the last one if another process has written since."""
        ...


class Handover(Protocol):
    """What the URL server and the store server of one workspace tell each other."""

    def mark_delivered(self, doc_ids: Iterable[int], now: float) -> int:
        """Note that results of leased documents are on their way to the store server.

        To be called before any of them is leased anew: the mark belongs to the lease there is.
        """
        ...

    def release_undelivered(self, now: float, older_than_seconds: float) -> int:
        """Return leases to pending whose results were on their way for longer than this."""
        ...

    def adopt(
        self, found: Sequence[Found], parent_doc_id: int | Sequence[int | None] | None, now: float
    ) -> list[Due | None]:
        """Lease URLs whose results came unordered, in the order given; unknown ones are entered.

        They have one parent, or each its own.

        None stands for a URL that is done, failed or excluded. One that was leased already, also to
        somebody else, is given all the same: whose verdict comes first counts.
        """
        ...

    def dues(self, doc_ids: Iterable[int]) -> dict[int, Due]:
        """Return what is known of documents that are leased now; results of others are stale."""
        ...

    def results_after(self, fetch_id: int, limit: int) -> list[Learned]:
        """Return the tries after this one, in their order, each with where its URL stands now."""
        ...

    def last_fetch_id(self) -> int:
        """Return the number of the latest try; 0 when there is none."""
        ...


class Catalog(CatalogReader, Remembered, Handover, Protocol):
    """What the writer of a crawl asks: everything that changes what is known."""

    def begin_run(
        self,
        now: float,
        *,
        longest_wait_seconds: float = 86_400.0,
        keep_delivered_seconds: float | None = None,
    ) -> Recovery:
        """Start a run: leases return to pending, stored waits are cut to the longest there is.

        With `keep_delivered_seconds`, leases whose results are on their way are kept, if that is
        not longer ago than this.
        """
        ...

    def last_run_id(self) -> int:
        """Return the number of the latest run; 0 when there was none."""
        ...

    def end_run(self, now: float) -> None:
        """Mark the stop as clean."""
        ...

    def add(
        self, found: Sequence[Found], now: float, *, priority: int = 0, note: str = ""
    ) -> list[int]:
        """Enter start URLs; return the ids of new ones. An excluded one becomes pending.

        `note`: a note that gets their texts as lines, in the same transaction.
        """
        ...

    def discover(self, found: Iterable[Found], now: float) -> list[int]:
        """Enter URLs that no page led to, such as sitemaps; return the ids of new ones."""
        ...

    def due(
        self, count: int, per_host: int, now: float, reject_hosts: Collection[str] = ()
    ) -> list[Due]:
        """Lease up to `count` URLs, fair over hosts, breadth first inside a host."""
        ...

    def release(
        self, doc_ids: Iterable[int], now: float, *, due_at: float = 0.0, died: bool = False
    ) -> int:
        """Return leases unused; no try is counted, but a death is when `died`."""
        ...

    def commit(
        self,
        verdicts: Sequence[Verdict],
        now: float,
        hosts: Sequence[HostClock] = (),
        traps: Sequence[TrapCount] = (),
        robots: Sequence[RobotsRecord] = (),
        gate: Gate | None = None,
    ) -> Committed:
        """Make verdicts, their new URLs and all that is given with them durable together."""
        ...

    def requeue_due(self, now: float, limit: int) -> int:
        """Turn done and failed URLs whose next fetch has come into pending ones; count them."""
        ...

    def readmit(self, doc_ids: Iterable[int], now: float) -> int:
        """Turn excluded URLs into pending ones; return how many."""
        ...

    def keep_out(
        self, doc_ids: Iterable[int], outcome: Outcome, now: float, detail: str = ""
    ) -> int:
        """Turn pending URLs into excluded ones; return how many."""
        ...

    def put_note(self, key: str, value: str) -> None:
        """Keep a note about the whole crawl."""
        ...

    def extend_note(self, key: str, lines: Iterable[str]) -> list[str]:
        """Add lines to a note unless it has them; return all its lines."""
        ...


@runtime_checkable
class SiteCatalog(Catalog, Protocol):
    """What a map of one site asks as well."""

    def try_again(
        self, outcomes: Iterable[int], tries: int, now: float, *, statuses: Iterable[int] = ()
    ) -> int:
        """Turn URLs that failed so, in fewer tries than this, into pending ones; count them.

        So: with one of these outcomes, or with one of these statuses.
        """
        ...

    def row(self, doc_id: int) -> UrlRow | None:
        """Return what is known of one document."""
        ...

    def known(self) -> Iterator[list[tuple[int, bytes, str, int]]]:
        """Go through the URLs in scope, in batches: number, key in the link graph, text, kind."""
        ...

    def surveyed(self, doc_id: int) -> Surveyed:
        """Return a document with its links and what a handler noted of it."""
        ...

    def surveyed_all(self, doc_ids: Collection[int]) -> Mapping[int, Surveyed]:
        """Return such documents by their numbers; a notebook has the records of its own."""
        ...

    def kept_out_as(self, outcome: Outcome, detail: str) -> int:
        """Return how many URLs are kept out for this reason."""
        ...
