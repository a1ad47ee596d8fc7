"""The lane: what is fetched over it is what libcurl alone would have fetched."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lanes import IS_MISSING, MakeWithout, fetch_in_lane, make_without, prove
from made_heads import heads
from misbehaviours import CASES, Case
from rawserver import Connection, RawServer, page

from conftest import QUICK, MakeSpider, fetch_all, fetch_one, visit
from gossamer.messages import Fetch
from gossamer.outcomes import Outcome

__all__ = ["make_without"]

pytestmark = IS_MISSING

ALIKE = (
    "outcome",
    "flags",
    "status",
    "http_version",
    "request_head",
    "head",
    "headers",
    "raw",
    "body",
    "address",
    "retry_after_seconds",
    "redirect_to",
)
SLOW_TO_END = (Outcome.NET_TIMEOUT_HEADERS, Outcome.NET_TIMEOUT_TOTAL, Outcome.NET_SLOW)
# How much of an endless answer has come when it is given up is a matter of time.
ENDLESS = (Outcome.NET_SLOW, Outcome.BODY_BOMB, Outcome.PROTO_HEADER_LIMIT, Outcome.PROTO_INTERIM)
CUT_BY_TIME = frozenset(("raw", "body", "head", "headers"))
PATIENT = QUICK | {
    "timeout_request_ms": 20_000,
    "timeout_first_byte_ms": 15_000,
    "timeout_connect_ms": 10_000,
    "min_rate_seconds": 10.0,
}
MADE = 60


def _made(number: int) -> tuple[bytes, list[int]]:
    """Return a response by lot and where it is cut into pieces."""
    random = Random(number)
    (head,) = heads(random, 1)
    # What follows it would be more than the response.
    head = re.sub(rb"(?s)(?<=\r\n\r\n).*", b"", head)
    if random.random() < 0.5:
        head = page(b"", b"Connection: keep-alive").replace(b"Content-Length: 0\r\n", b"")
        length = random.choice((0, 1, 5, 4_000, 32_700, 32_768, 90_000, 262_144))
        head = head.replace(b"\r\n\r\n", b"\r\nContent-Length: %d\r\n\r\n" % length)
    else:
        found = re.search(rb"(?i)content-length: *(\d{1,5})\s", head)
        length = int(found[1]) if found else 7
    size = max(0, length + random.choice((0, 0, 0, 0, -1)))
    answer = head + b"x" * size
    count = random.choice((0, 0, 1, 3, 40))
    return answer, sorted(random.randrange(len(answer) + 1) for _ in range(count))


def _in_pieces(connection: Connection) -> bool:
    answer, cuts = _made(int(connection.path.partition("?")[2]))
    for start, end in zip([0, *cuts], [*cuts, len(answer)], strict=True):
        connection.peer.sendall(answer[start:end])
        time.sleep(0.001)
    return False


def _reset_after(data: bytes) -> Any:
    def behave(connection: Connection) -> bool:
        connection.send(data)
        time.sleep(0.05)
        connection.reset()
        return False

    return behave


BEHAVIOURS = {case.name: case.behaviour for case in CASES} | {
    "good": page(b"good page"),
    "pieces": _in_pieces,
    "reset-in-status": _reset_after(b"HTTP/1.1 200"),
    "reset-in-head": _reset_after(b"HTTP/1.1 200 OK\r\nContent-"),
    "reset-in-body": _reset_after(page(b"hello")[:-2]),
    "reset-in-long-body": _reset_after(page(b"hello" * 10_000)[:-2]),
    "reset-in-large-body": _reset_after(page(b"hello" * 40_000)[:-2]),
    "reset-after-large-body": _reset_after(page(b"hello" * 40_000)),
    "large": page(b"large" * 40_000),
    "reset-after-body": _reset_after(page(b"hello")),
    "close": page(b"hello", b"Connection: close", keep=False),
    "http-1.0": page(b"hello").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "long": page(b"long" * 100_000),
}
MORE_CASES = (
    "reset-in-status",
    "reset-in-head",
    "reset-in-body",
    "reset-in-long-body",
    "reset-in-large-body",
    "reset-after-large-body",
    "large",
    "reset-after-body",
    "close",
    "http-1.0",
    "long",
)


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer(BEHAVIOURS) as server:
        yield server


def settings_for(case: Case) -> dict[str, Any]:
    """Only what is to run into a deadline has a short one: a busy machine is no misbehaviour."""
    return QUICK if case.outcome in SLOW_TO_END else PATIENT


def told(fetch: Fetch, *, but: frozenset[str] = frozenset()) -> dict[str, object]:
    shown: dict[str, object] = {name: getattr(fetch, name) for name in ALIKE if name not in but}
    shown["detail"] = re.sub(r"\d+\.\d+", "N", fetch.detail)
    assert fetch.sent_at > 0.0
    assert fetch.fetched_at > 0.0
    return shown


class Both:
    """Fetches the same with and without a lane."""

    def __init__(
        self, server: RawServer, makes: tuple[MakeSpider, MakeWithout], settings: dict[str, Any]
    ) -> None:
        self._server = server
        self._site = f"http://a.example:{server.port}"
        self._settings = settings
        self._makes = makes

    def fetch(self, path: str) -> tuple[list[Fetch], list[tuple[list[bytes], int]]]:
        """Return what came of it, and which requests and how many connections the server saw."""
        fetches, seen = [], []
        for make in self._makes:
            spider = make(**self._settings)
            before, accepted = len(self._server.requests), self._server.accepted
            prove(spider, self._site)
            url = f"{self._site}/{path}"
            if spider._lane is None:
                fetches.append(fetch_all(spider, [visit(7, url)])[7])
            else:
                fetches.append(fetch_in_lane(spider, url))
            after = fetch_one(spider, f"{self._site}/good")
            assert after.body == b"good page", (after.outcome, after.detail)
            seen.append((self._server.requests[before:], self._server.accepted - accepted))
            spider.close()
        return fetches, seen


@pytest.mark.req("S0.6")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row}-{case.name}")
def test_every_misbehaviour_means_the_same(
    case: Case, server: RawServer, make_spider: MakeSpider, make_without: MakeWithout
) -> None:
    """Asked for over the lane, each ends as without it, with as many requests and connections."""
    both = Both(server, (make_spider, make_without), settings_for(case))
    (over, without), (seen, seen_without) = both.fetch(case.name)
    but = CUT_BY_TIME if case.outcome in ENDLESS or case.flag == "body_cut" else frozenset()
    assert told(over, but=but) == told(without, but=but)
    assert seen == seen_without
    common = min(len(over.raw), len(without.raw))
    assert over.raw[:common] == without.raw[:common]


@pytest.mark.parametrize("name", MORE_CASES)
def test_more_ends_mean_the_same(
    name: str, server: RawServer, make_spider: MakeSpider, make_without: MakeWithout
) -> None:
    both = Both(server, (make_spider, make_without), PATIENT)
    (over, without), (seen, seen_without) = both.fetch(name)
    assert told(over) == told(without)
    assert seen == seen_without


@pytest.mark.parametrize("number", range(MADE))
def test_pieces_mean_the_same(
    number: int, server: RawServer, make_spider: MakeSpider, make_without: MakeWithout
) -> None:
    """Responses by lot, cut anywhere."""
    both = Both(server, (make_spider, make_without), PATIENT)
    (over, without), (seen, seen_without) = both.fetch(f"pieces?{number}")
    assert told(over) == told(without)
    assert seen == seen_without


def test_requests_are_those_of_libcurl(make_spider: MakeSpider, make_without: MakeWithout) -> None:
    """Byte for byte, whatever a path is made of; what is odd does not take the lane."""
    random = Random(5)
    letters = [chr(number) for number in range(0x21, 0x7F)]
    paths = ["".join(random.choices(letters, k=random.randrange(60))) for _ in range(150)]
    paths += ["", "..", "../a", "./b", "a/../b", "//", "?", "??#", "a#b", "%", "%zz", "a?b?c"]
    good = page(b"good page")
    seen = []
    for make in (make_spider, make_without):
        with RawServer(_Anything(good)) as server:  # type: ignore[arg-type]
            spider = make()
            site = "http://a.example"
            prove(spider, f"{site}:{server.port}")
            fetches = [fetch_one(spider, f"{site}:{server.port}/{path}") for path in paths]
            port = str(server.port).encode()
            seen.append(
                (
                    [request.replace(port, b"PORT") for request in server.requests],
                    [fetch.request_head.replace(port, b"PORT") for fetch in fetches],
                    [(fetch.outcome, fetch.body) for fetch in fetches],
                    server.accepted,
                )
            )
    assert seen[0] == seen[1]
    assert len(seen[0][0]) > 150


class _Anything(dict[str, bytes]):
    """The same answer at every path."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self._answer = answer

    def __missing__(self, key: str) -> bytes:
        return self._answer


SCRIPT = """
import sys
sys.modules["gossamer.spider._lane"] = None  # so that its import fails
from gossamer.spider.lane import is_compiled
assert not is_compiled()
from conftest import LOOPBACK, fetch_one
from gossamer.clock import SystemClock
from gossamer.config.spider import SpiderSettings
from gossamer.spider.spider import Spider
spider = Spider(SpiderSettings(), LOOPBACK, SystemClock())
pages = [fetch_one(spider, sys.argv[1]).body for _ in range(5)]
assert pages == [b"good page"] * 5, pages
spider.close()
"""


def test_pages_are_the_same_without_the_compiled_part(server: RawServer) -> None:
    """No compiler was at hand: all goes through libcurl."""
    subprocess.run(
        [sys.executable, "-c", SCRIPT, f"http://a.example:{server.port}/good"],
        cwd=Path(__file__).parent,
        env={"PYTHONPATH": str(Path(__file__).parent.parent)},
        timeout=120,
        check=True,
    )
