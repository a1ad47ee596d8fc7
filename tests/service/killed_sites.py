"""Sites as a client knows them whose service is killed: what was answered, what is in doubt.

A client that has one request out at a time can be in doubt about one operation only: the last. What
it left must be the sites as before it, or as after it, and nothing in between.
"""

import json
import random
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from operations_desk import Desk

from gossamer.objects.enumerations import DelayedType, SiteState
from gossamer.objects.normal import url_md5
from gossamer.service.zeromq import zmq

ROOTS, FILTERS, PAGES = 3, 4, 8
DELAY_MS = 200
MOST_URLS = 600
_PROPERTIES = {"PROCESS_CTYPES": "text/html", "USER_NUMBER": "7"}
_GONE = {SiteState.NOT_FOUND, SiteState.DELETE_TASK, SiteState.DELETED}
_ANSWER_SECONDS = 180.0


@dataclass
class Known:
    """A site, as it must be."""

    roots: list[str]
    pages: list[str] = field(default_factory=list)
    lives: bool = False
    past: list[str] = field(default_factory=list)
    """The operations so far, for whoever looks for the reason of a failure."""

    @property
    def id(self) -> str:
        return url_md5(self.roots[0])

    @property
    def urls(self) -> list[str]:
        return [*self.roots, *self.pages] if self.lives else []


@dataclass
class Step:
    """An operation, the site it is about (by number), and what becomes of that site."""

    operation: str
    payload: Any
    number: int = -1
    after: Known | None = None


class Sites:
    """All sites of a client, and what it may do next."""

    def __init__(self, pages: Iterator[list[str]], forbidden: list[str], draw: random.Random):
        self.known: list[Known] = []
        self._pages = pages
        """Groups of URLs of one host each."""
        self._forbidden = forbidden
        self._draw = draw

    def next_step(self) -> Step:
        """Draw an operation that makes sense now."""
        living = [number for number, site in enumerate(self.known) if site.lives]
        if len(living) < 4:
            return self._new()
        number = self._draw.choice(living)
        many = sum(len(site.urls) for site in self.known) > MOST_URLS
        kinds = [self._add, self._clean, self._delete, self._purge, self._new]
        weights = [0, 3, 3, 2, 1] if many else [5, 2, 1, 2, 3]
        (kind,) = self._draw.choices(kinds, weights)
        return kind(number)

    def _new(self, _: int = -1) -> Step:
        site = Known(next(self._pages)[:ROOTS])
        after = deepcopy(site)
        after.lives = True
        self.known.append(site)
        payload = {
            "urls": site.roots,
            "requestDelay": DELAY_MS,
            # Nothing is collected: a site has the URLs that the client gave it.
            "filters": [{"pattern": f".*{n}?", "type": 0, "mode": n % 2} for n in range(FILTERS)],
            "properties": [{"name": name, "value": text} for name, text in _PROPERTIES.items()],
        }
        return Step("SITE_NEW", payload, len(self.known) - 1, after)

    def _add(self, number: int) -> Step:
        after = deepcopy(self.known[number])
        added = [*next(self._pages)[:PAGES], self._forbidden.pop()]
        after.pages += added
        parent = url_md5(after.roots[0])
        payload = [{"siteId": after.id, "url": url, "parentMd5": parent} for url in added]
        return Step("URL_NEW", payload, number, after)

    def next_removal(self) -> Step:
        """Draw an operation of two steps: it takes a site's URLs away, and then their contents."""
        living = [number for number, site in enumerate(self.known) if site.lives]
        kind = self._draw.choice([self._clean, self._delete])
        return kind(self._draw.choice(living), DelayedType.NOT_DELAYED)

    def _clean(self, number: int, delay: int | None = None) -> Step:
        after = deepcopy(self.known[number])
        after.pages = []
        return Step("SITE_CLEANUP", [_removal(after, number, delay)], number, after)

    def _delete(self, number: int, delay: int | None = None) -> Step:
        after = deepcopy(self.known[number])
        after.lives = False
        return Step("SITE_DELETE", [_removal(after, number, delay)], number, after)

    def _purge(self, _: int) -> Step:
        return Step("URL_PURGE", [{"siteLimits": [0, -1], "criterions": {"LIMIT": 1_000}}])

    def done(self, step: Step, how: str = "") -> None:
        """Take note that an operation was carried out."""
        if step.after is not None:
            self.known[step.number] = step.after
            step.after.past.append(f"{step.operation}{how}")

    def check(self, desk: Desk, doubtful: Step | None) -> None:
        """Compare with what is there, and learn from it what became of the doubtful operation."""
        for number, site in enumerate(self.known):
            wrong = differences(desk, site)
            if wrong and doubtful is not None and doubtful.number == number:
                assert doubtful.after is not None
                assert differences(desk, doubtful.after) == [], (doubtful.operation, wrong)
                self.done(doubtful, " unanswered")
            else:
                assert wrong == [], (wrong, site.past)
        assert desk.is_sound()


def _removal(site: Known, number: int, delay: int | None) -> dict[str, object]:
    return {"id": site.id, "delayedType": number % 2 if delay is None else int(delay)}


def differences(desk: Desk, site: Known) -> list[object]:
    """Return in what a site differs from what it should be: there as a whole, or not at all."""
    found = desk.status(site.id)
    urls = set(desk.urls(site.id)) ^ set(site.urls)
    if not site.lives:
        return [*urls, *({found.state} - _GONE)]
    properties = {each.name: each.value for each in found.properties}
    return [
        *urls,
        *({found.state} - {SiteState.ACTIVE}),
        *(set(map(str, found.urls)) ^ set(site.roots)),
        *({len(found.filters)} - {FILTERS}),
        *(_PROPERTIES.items() - properties.items()),
    ]


class Line:
    """A client's line to one run of the service."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", endpoint: object) -> None:
        self._socket = context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.connect(f"tcp://{endpoint}")

    def send(self, step: Step) -> None:
        body = {"operation": step.operation, "object": step.payload}
        self._socket.send_multipart([b"", json.dumps(body).encode()])

    def heard(self, seconds: float = _ANSWER_SECONDS) -> bool:
        """Wait for the answer; whether it came. It must be a good one."""
        deadline = time.monotonic() + seconds
        while not self._socket.poll(10):
            if time.monotonic() > deadline:
                return False
        answer = json.loads(self._socket.recv_multipart()[-1])["response"]
        (item,) = answer["itemsList"]
        assert (answer["errorCode"], item["errorCode"]) == (0, 0), answer
        assert item["itemObject"]["errorCode"] == 0, answer
        return True

    def close(self) -> None:
        self._socket.close(linger=0)
