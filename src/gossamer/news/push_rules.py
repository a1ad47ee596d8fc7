"""WebSub (W3C Recommendation): pure rules about waits, leases, calls of hubs and signatures."""

import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct

from gossamer.catalog.pushes import Push, PushState

WEEK_SECONDS: Final = 604_800.0
_DAY_SECONDS: Final = 86_400.0
_YEAR_SECONDS: Final = 366 * _DAY_SECONDS
_FIRST_WAIT_SECONDS: Final = 60.0
# A hub asks back by itself, some only minutes later.
_CONFIRMATION_SECONDS: Final = 600.0
_MAX_ASKED: Final = 12
_RENEW_AFTER: Final = 0.8
_SHORTEST_RENEWAL_SECONDS: Final = 300.0
_PASSING_STATUSES: Final = frozenset({0, 408, 421, 425, 429})
_METHODS: Final = ("sha1", "sha256", "sha384", "sha512")
_SIGNATURE: Final = re.compile(r"(\w{4,6})=([0-9a-fA-F]{40,128})", re.ASCII)
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_MAX_DIGITS: Final = 12
_MAX_FIELDS: Final = 100
_MAX_REASON: Final = 200
_NOT_PLAIN: Final = re.compile(r"[^\x21-\x7e]+")


class Setback(Struct, frozen=True):
    """What follows when a hub did not take a question."""

    wait_seconds: float
    refused: bool
    """Whether it was the hub's last word, for a week."""


def confirmation_wait(asked: int) -> float:
    """Return how long a hub has to confirm the n-th question in a row before the next."""
    return max(_CONFIRMATION_SECONDS, _back_off(asked))


def setback(asked: int, status: int, retry_after_seconds: float | None = None) -> Setback:
    """Return when the n-th question in a row is repeated that ended like this; 0: no answer."""
    if asked >= _MAX_ASKED or (status < 500 and status not in _PASSING_STATUSES):
        return Setback(WEEK_SECONDS, refused=True)
    wait = max(_back_off(asked), min(retry_after_seconds or 0.0, WEEK_SECONDS))
    return Setback(wait, refused=False)


def lease_of(text: str | None, wished_seconds: float) -> float:
    """Return for how long a hub says that it will tell us, within reason."""
    if text is None or not text.isdecimal() or len(text) > _MAX_DIGITS or not text.isascii():
        return wished_seconds
    return min(float(text), _YEAR_SECONDS)


def renewal_wait(lease_seconds: float) -> float:
    """Return when to renew: well before the end, but not as often as a hub might like."""
    return max(_RENEW_AFTER * lease_seconds, _SHORTEST_RENEWAL_SECONDS)


class Call(Struct, frozen=True):
    """What a hub says in the query of a GET."""

    mode: str = ""
    topic: str = ""
    challenge: str = ""
    lease: str | None = None
    reason: str = ""


def call_of(query: str) -> Call:
    """Read a query; what is repeated or cannot be read counts as not said."""
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        return Call()
    said = _once(pairs)
    return Call(
        mode=said.get("hub.mode", ""),
        topic=said.get("hub.topic", ""),
        challenge=said.get("hub.challenge", ""),
        lease=said.get("hub.lease_seconds"),
        reason=_NOT_PLAIN.sub(" ", said.get("hub.reason", ""))[:_MAX_REASON].strip(),
    )


def agrees(push: Push, call: Call) -> bool:
    """Whether this is what we asked the hub for, so that its challenge may be answered."""
    if call.topic != push.topic or not call.challenge:
        return False
    subscribes = push.wanted and push.state in (PushState.ASKED, PushState.SUBSCRIBED)
    if call.mode == "subscribe":
        return subscribes
    return call.mode == "unsubscribe" and not push.wanted


def token_of(path: str, prefix: str) -> str | None:
    """Return the token at the end of a callback's path, with or without the prefix before it."""
    token = path[path.rfind("/") + 1 :]
    if path not in (f"{prefix}/{token}", f"/{token}"):
        # A proxy in front of us may have taken the prefix away; nothing else may stand there.
        return None
    return token if _TOKEN.fullmatch(token) else None


class Seal:
    """Checks the signature of a body that comes piece by piece."""

    def __init__(self, secret: str, signature: str | None) -> None:
        found = _SIGNATURE.fullmatch(signature.strip()) if signature is not None else None
        method = found[1].lower() if found is not None else ""
        self._claimed = found[2].lower() if found is not None else ""
        self._mac = hmac.new(secret.encode(), digestmod=method) if method in _METHODS else None

    def update(self, piece: bytes) -> None:
        """Take the next piece of the body."""
        if self._mac is not None:
            self._mac.update(piece)

    def fits(self) -> bool:
        """Whether the whole body is what the holder of the secret has signed."""
        return self._mac is not None and hmac.compare_digest(self._mac.hexdigest(), self._claimed)


def subscription(mode: str, push: Push, callback: str, secret: str, lease: float) -> dict[str, str]:
    """Return the form in which a hub is asked to begin or end telling us."""
    form = {"hub.mode": mode, "hub.callback": callback, "hub.topic": push.topic}
    if mode == "subscribe":
        form |= {"hub.secret": secret, "hub.lease_seconds": str(int(lease))}
    return form


def _back_off(asked: int) -> float:
    return min(_FIRST_WAIT_SECONDS * 2.0 ** min(max(asked, 1) - 1, 20), _DAY_SECONDS)


def _once(pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    names = [name for name, _ in pairs]
    return {name: value for name, value in pairs if names.count(name) == 1}
