"""Cookies of pages that do not show themselves before their cookie comes back.

No cookies are kept otherwise. A page whose redirect ends in a loop is asked for once more (see
RULES), and that one request carries what the page itself had set. The catalog never has it, and
no other URL ever gets to see it.
"""

from collections.abc import Sequence
from typing import Final

from gossamer.clock import header_moment
from gossamer.messages import Kind, Visit
from gossamer.outcomes import RULES, Outcome

_MAX_WAITING: Final = 1_000
_MAX_BYTES: Final = 4_096


class Cookies:
    """What the next request for a URL is to bring back; each is given out once."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, visit: Visit, headers: Sequence[tuple[str, str]], now: float) -> None:
        """Remember the cookies of a response, if its URL will be asked for again."""
        if visit.kind == Kind.ROBOTS or visit.tries + 1 >= RULES[Outcome.REDIR_LOOP].tries:
            return
        value = cookie_value(headers, now)
        if not value:
            return
        # A crawl that ended may never come back for some: the oldest make room.
        while len(self._waiting) >= _MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._waiting[visit.url] = value

    def take(self, url: str) -> str:
        """Return the value of the Cookie header for a request, and forget it."""
        return self._waiting.pop(url, "")


def cookie_value(headers: Sequence[tuple[str, str]], now: float) -> str:
    """Return what a Cookie header gives back of all Set-Cookie headers; empty if that is nothing.

    Domain and Path do not matter: it goes to the very URL that it came from.
    """
    pairs: dict[str, str] = {}
    for header, value in headers:
        if header != "set-cookie":
            continue
        pair, _, attributes = value.partition(";")
        name, equals, content = pair.partition("=")
        name = name.strip()
        if not name or not equals or not (pair.isascii() and pair.isprintable()):
            continue
        pairs[name] = "" if _is_over(attributes, now) else f"{name}={content.strip()}"
    line = "; ".join(filter(None, pairs.values()))
    return line if len(line) <= _MAX_BYTES else ""


def _is_over(attributes: str, now: float) -> bool:
    """Whether the cookie is set only to be deleted; Max-Age counts before Expires (RFC 6265)."""
    found = {}
    for attribute in attributes.split(";"):
        name, _, value = attribute.partition("=")
        found[name.strip().lower()] = value.strip()
    age = found.get("max-age", "")
    if age.removeprefix("-").isdecimal():
        return age.startswith("-") or not age.strip("0")
    moment = header_moment(found.get("expires"))
    return moment is not None and moment <= now
