"""Verdicts over a request log: gaps, concurrency, robots.txt, lost and repeated pages.

Pure functions over `Log` and `Truth`. Every request counts for gaps and concurrency, robots.txt
too. `python -m gossamer.fakeweb.judge LOG --truth TRUTH --gap 0.1 --concurrent 2` prints a table
and ends with 1 when there is a violation.
"""

import argparse
import json
import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast

from gossamer.fakeweb.log import DONE, GONE, Log, Request
from gossamer.fakeweb.truth import Truth

By = Literal["host", "address"]
TOLERANCE_SECONDS: Final = 0.010
_NS: Final = 1_000_000_000
# How long after a stall a request may be seen that waited through it: a new connection takes the
# server a few turns from accept to the first byte.
_AFTER_STALL_NS: Final = 5_000_000
_FREE_PATHS: Final = ("/robots.txt", "/sitemap.xml", "/favicon.ico")


class Gap(NamedTuple):
    """Two requests in a row to one host or address, and the seconds between their starts."""

    key: str
    seconds: float
    first: Request
    second: Request


class Crowd(NamedTuple):
    """A moment when more requests than allowed were open to one host or address."""

    key: str
    open_requests: int
    request: Request


def gaps(log: Log, by: By = "host") -> Iterator[Gap]:
    """Yield the gap between each two neighbouring arrivals of requests to a host or address."""
    for key, requests in _grouped(log.requests, by).items():
        for first, second in pairwise(sorted(requests, key=_arrival)):
            yield Gap(key, (second.arrived_ns - first.arrived_ns) / _NS, first, second)


def min_gap(log: Log, by: By = "host") -> float | None:
    """Return the smallest gap in seconds, or None when nothing was asked twice."""
    return min((gap.seconds for gap in gaps(log, by)), default=None)


def gap_violations(
    log: Log, gap_seconds: float, tolerance: float = TOLERANCE_SECONDS, by: By = "host"
) -> list[Gap]:
    """Return the gaps that are surely too small.

    Where the system does not tell when the first request arrived, and the server itself stalled, it
    may have come as early as the stall began; a gap that is long enough from there is no proof of
    anything and is left out.
    """
    earliest = _earliest_arrival(log)
    return [
        gap
        for gap in gaps(log, by)
        if gap.seconds < gap_seconds - tolerance
        and (gap.second.arrived_ns - earliest(gap.first)) / _NS < gap_seconds - tolerance
    ]


def max_concurrency(log: Log, by: By = "host") -> int:
    """Return the largest number of requests that were open to one host or address at once."""
    return max((crowd.open_requests for crowd in _crowds(log, by)), default=0)


def concurrency_violations(log: Log, limit: int, by: By = "host") -> list[Crowd]:
    """Return each request that was started while `limit` others were open."""
    return [crowd for crowd in _crowds(log, by) if crowd.open_requests > limit]


def disallowed_requests(log: Log, truth: Truth) -> list[Request]:
    """Return the requests that robots.txt forbids, and those nobody who obeys it can know of."""
    rules = {
        authority: [re.compile(pattern) for pattern in patterns]
        for authority, patterns in truth["disallow"].items()
    }
    hidden = set(truth["hidden"])
    return [
        request
        for request in log.requests
        if request.url in hidden or _is_forbidden(request, rules.get(request.host, []))
    ]


def nofollow_requests(log: Log, truth: Truth) -> list[Request]:
    """Return the requests for pages that only links with nofollow lead to."""
    nofollow = set(truth["nofollow"])
    return [request for request in log.requests if request.url in nofollow]


def expected_urls(truth: Truth) -> set[str]:
    """Return every URL that a whole crawl fetches: pages, copies, redirects and dead links."""
    return {
        *truth["pages"],
        *truth["redirects"],
        *truth["duplicates"],
        *truth["near_duplicates"],
        *truth["gone"],
    }


def missing(log: Log, truth: Truth) -> set[str]:
    """Return the URLs of a whole crawl that never got a whole answer: lost pages."""
    answered = {request.url for request in log.requests if request.how == DONE}
    return expected_urls(truth) - answered


def unexpected(log: Log, truth: Truth) -> list[Request]:
    """Return requests for URLs that the web does not have: links that were made up or mangled."""
    known = expected_urls(truth).union(
        truth["disallowed"], truth["nofollow"], truth["hidden"], truth["assets"]
    )
    return [
        request
        for request in log.requests
        if request.url not in known
        and request.target not in _FREE_PATHS
        and not request.target.startswith("/~/")
    ]


def refetches(log: Log) -> dict[str, int]:
    """Return how often each URL was asked for beyond the first time; robots.txt is left out."""
    counts = Counter(
        request.url for request in log.requests if request.method == "GET" and not request.is_robots
    )
    return {url: count - 1 for url, count in counts.items() if count > 1}


def unexcused_refetches(
    log: Log, kills: Sequence[tuple[float, float]], most_each: int, server_lag: float = 0.5
) -> list[str]:
    """Return what was asked for again though no kill explains it.

    `kills`: monotonic times just before and just after each. A kill may cost what was in flight: it
    excuses `most_each` repetitions of URLs that were asked for before it and again after it. A busy
    server may read a request only `server_lag` seconds after its sender was killed.
    """
    befores, afters = [before for before, _ in kills], [after for _, after in kills]
    waiting: list[tuple[range, str]] = []
    last_asked: dict[str, float] = {}
    for request in log.requests:
        if request.is_robots:
            continue
        start = request.start_ns / 1e9
        if request.url in last_asked:
            first = bisect_right(afters, last_asked[request.url] - server_lag)
            waiting.append((range(first, bisect_left(befores, start)), request.url))
        last_asked[request.url] = start
    waiting.sort(key=lambda entry: (entry[0].stop, entry[0].start))
    for kill in range(len(kills)):
        excused = [entry for entry in waiting if kill in entry[0]][:most_each]
        for entry in excused:
            waiting.remove(entry)
    return [url for _, url in waiting]


def requests_in_flight_at(log: Log, seconds: float) -> list[Request]:
    """Return the requests that were open at a time of `time.monotonic()`."""
    moment = int(seconds * _NS)
    return [
        request
        for request in log.requests
        if request.start_ns <= moment and (request.end_ns is None or request.end_ns > moment)
    ]


def pages_before_robots(log: Log) -> list[Request]:
    """Return the requests that came before robots.txt of their authority had been answered."""
    answered: dict[str, int] = {}
    for request in log.requests:
        if request.is_robots and request.end_ns is not None:
            answered.setdefault(request.host, request.end_ns)
    return [
        request
        for request in log.requests
        if not request.is_robots
        and not request.target.startswith("/~/robots-hop/")
        and request.start_ns < answered.get(request.host, request.start_ns + 1)
    ]


def trap_requests(log: Log) -> list[Request]:
    """Return the requests that went into the endless traps."""
    return [request for request in log.requests if request.target.startswith("/~/trap/")]


def _is_forbidden(request: Request, patterns: list[re.Pattern[str]]) -> bool:
    if request.is_robots or request.target.startswith("/~/robots-hop/"):
        return False
    return any(pattern.search(request.target) for pattern in patterns)


def _grouped(requests: Iterable[Request], by: By) -> dict[str, list[Request]]:
    groups: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        groups[request.host if by == "host" else request.address].append(request)
    for group in groups.values():
        group.sort(key=_start)
    return groups


def _start(request: Request) -> int:
    return request.start_ns


def _arrival(request: Request) -> int:
    return request.arrived_ns


def _crowds(log: Log, by: By) -> Iterator[Crowd]:
    """Yield for each request how many were open to its host or address, itself included."""
    for key, requests in _grouped(log.requests, by).items():
        ends = sorted(_end(request) for request in requests if request.end_ns is not None)
        for started, request in enumerate(requests, 1):
            ended = bisect_left(ends, request.start_ns)
            yield Crowd(key, started - ended, request)


def _end(request: Request) -> int:
    """Return when a request ended for its client: one that hung up did so before we saw it."""
    assert request.end_ns is not None
    if request.how != GONE:
        return request.end_ns
    return max(request.start_ns, request.end_ns - int(TOLERANCE_SECONDS * _NS))


def _earliest_arrival(log: Log) -> Callable[[Request], int]:
    """Return a function from a request to when it may have arrived."""
    stalls = sorted(log.stalls, key=lambda stall: stall[1])
    ends = [end for _, end in stalls]

    def earliest(request: Request) -> int:
        if request.waited_ns is not None:
            return request.arrived_ns
        arrival = seen_ns = request.start_ns
        # Stalls may follow on each other; a request held through all of them came in the first.
        for position in range(bisect_left(ends, seen_ns - _AFTER_STALL_NS), len(stalls)):
            start, _ = stalls[position]
            if start > seen_ns:
                break
            arrival = min(arrival, start)
        return arrival

    return earliest


class Finding(NamedTuple):
    """One line of the verdict."""

    question: str
    answer: str
    violations: int


def verdict(
    log: Log,
    truth: Truth | None = None,
    gap_seconds: float | None = None,
    concurrent: int | None = None,
    *,
    address_gap_seconds: float | None = None,
    address_concurrent: int | None = None,
    tolerance: float = TOLERANCE_SECONDS,
) -> list[Finding]:
    """Return the table of findings; where no limit is given, the number is not judged."""
    findings = [Finding("requests", str(len(log.requests)), 0)]
    findings += _politeness(log, gap_seconds, concurrent, tolerance, "host")
    findings += _politeness(log, address_gap_seconds, address_concurrent, tolerance, "address")
    early = len(pages_before_robots(log))
    findings.append(Finding("requests before robots.txt", str(early), early))
    findings.append(Finding("requests repeated", str(sum(refetches(log).values())), 0))
    findings.append(Finding("requests into traps", str(len(trap_requests(log))), 0))
    if truth is not None:
        findings += _against_truth(log, truth)
    return findings


def _politeness(
    log: Log, gap_seconds: float | None, concurrent: int | None, tolerance: float, by: By
) -> Iterator[Finding]:
    smallest = min_gap(log, by)
    shown = "-" if smallest is None else f"{smallest:.4f} s"
    bad = [] if gap_seconds is None else gap_violations(log, gap_seconds, tolerance, by)
    yield Finding(f"smallest gap by {by}", shown, len(bad))
    crowded = [] if concurrent is None else concurrency_violations(log, concurrent, by)
    yield Finding(f"most at once by {by}", str(max_concurrency(log, by)), len(crowded))


def _against_truth(log: Log, truth: Truth) -> list[Finding]:
    counts = {
        "disallowed requests": len(disallowed_requests(log, truth)),
        "requests through nofollow": len(nofollow_requests(log, truth)),
        "requests for made-up URLs": len(unexpected(log, truth)),
        f"lost of {len(expected_urls(truth))} URLs": len(missing(log, truth)),
    }
    return [Finding(question, str(count), count) for question, count in counts.items()]


def main(arguments: list[str] | None = None) -> int:
    """Print the verdict on a log; return 1 when there are violations."""
    parser = argparse.ArgumentParser(prog="python -m gossamer.fakeweb.judge", description=__doc__)
    parser.add_argument("log", type=Path, help="the request log of a fake web")
    parser.add_argument("--truth", type=Path, help="the ground truth of the same web")
    parser.add_argument("--gap", type=float, help="seconds between request starts to one host")
    parser.add_argument("--concurrent", type=int, help="requests that may be open to one host")
    parser.add_argument("--address-gap", type=float, help="the same for one address (--gap)")
    parser.add_argument("--address-concurrent", type=int, help="the same for one address")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE_SECONDS, help="seconds")
    given = parser.parse_args(arguments)
    truth = None
    if given.truth:
        truth = cast("Truth", json.loads(given.truth.read_text(encoding="utf-8")))
    findings = verdict(
        Log.read(given.log),
        truth,
        given.gap,
        given.concurrent,
        address_gap_seconds=given.gap if given.address_gap is None else given.address_gap,
        address_concurrent=given.address_concurrent or given.concurrent,
        tolerance=given.tolerance,
    )
    for question, answer, violations in findings:
        note = f"VIOLATED {violations} times" if violations else ""
        print(f"{question:32} {answer:>14}  {note}".rstrip())
    return 1 if any(finding.violations for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
