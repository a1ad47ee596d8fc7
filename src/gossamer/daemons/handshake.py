"""The shared secret: both ends of a link prove that they know it, and neither says it.

    listener   AUTH <nonceL>
    dialler    AUTH <nonceD> <HMAC-SHA256(secret, "dial" + nonceL + nonceD)>
    listener   OK <HMAC-SHA256(secret, "listen" + nonceD + nonceL)>

All in lower-case hex, each line ended by LF; the nonces enter the HMAC as they are written. The
proof is for the beginning of a link only: what follows is neither encrypted nor signed.

Each end is a state machine: `feed(data)` returns (bytes to send, whether it is done, bytes that
came after the handshake) and raises WireError when the other end fails. `feed(b"")` begins. Without
a secret it is done at once.
"""

import hmac
import os
import re
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Final

from gossamer.config.wire import WireSettings
from gossamer.errors import InputError, WireError

HANDSHAKE_SECONDS: Final = 5.0
MAX_HANDSHAKE_LINE: Final = 512
SECRET_VARIABLE: Final = "GOSSAMER_SECRET"  # noqa: S105 - its name, not the secret
_MIN_SECRET_BYTES: Final = 16
_MAX_SECRET_BYTES: Final = 4_096
_NONCE_BYTES: Final = 32
_CHALLENGE: Final = re.compile(rb"AUTH ([0-9a-f]{64})")
_ANSWER: Final = re.compile(rb"AUTH ([0-9a-f]{64}) ([0-9a-f]{64})")
_VERDICT: Final = re.compile(rb"OK ([0-9a-f]{64})")

Step = tuple[bytes, bool, bytes]
"""Bytes to send, whether the handshake is done, bytes that came after it."""


def load_secret(
    settings: WireSettings, environment: Mapping[str, str] = os.environ
) -> bytes | None:
    """Return the secret of the settings, else of the environment; None if there is neither."""
    if settings.secret_file:
        return _checked(_read(Path(settings.secret_file)), settings.secret_file)
    if SECRET_VARIABLE in environment:
        return _checked(os.fsencode(environment[SECRET_VARIABLE]), SECRET_VARIABLE)
    return None


def is_challenge(line: bytes) -> bool:
    """Whether a line asks for a secret: what an end without one should complain about."""
    return _CHALLENGE.fullmatch(line) is not None


class ListenerHandshake:
    """The end that was called: asks first, proves itself last."""

    def __init__(self, secret: bytes | None) -> None:
        self._secret = secret
        self._nonce = token_hex(_NONCE_BYTES).encode()
        self._line = _Line()
        self._begun = False

    def feed(self, data: bytes) -> Step:
        """Go on with what has arrived."""
        if self._secret is None:
            return b"", True, data
        begin = b"" if self._begun else b"AUTH " + self._nonce + b"\n"
        self._begun = True
        line, rest = self._line.feed(data)
        if line is None:
            return begin, False, b""
        answer = _ANSWER.fullmatch(line)
        if answer is None:
            raise WireError("the other side did not answer AUTH; does it have a secret?")
        theirs, proof = answer.groups()
        if not hmac.compare_digest(proof, _proof(self._secret, b"dial", self._nonce, theirs)):
            raise WireError("the other side has another secret")
        verdict = _proof(self._secret, b"listen", theirs, self._nonce)
        return begin + b"OK " + verdict + b"\n", True, rest


class DiallerHandshake:
    """The end that called: answers, and believes nothing before the OK."""

    def __init__(self, secret: bytes | None) -> None:
        self._secret = secret
        self._nonce = token_hex(_NONCE_BYTES).encode()
        self._theirs: bytes | None = None
        self._line = _Line()

    def feed(self, data: bytes) -> Step:
        """Go on with what has arrived."""
        if self._secret is None:
            return b"", True, data
        line, rest = self._line.feed(data)
        if line is None:
            return b"", False, b""
        if self._theirs is None:
            reply = self._answer(self._secret, line)
            more, done, rest = self.feed(rest)
            return reply + more, done, rest
        verdict = _VERDICT.fullmatch(line)
        if verdict is None or not hmac.compare_digest(
            verdict[1], _proof(self._secret, b"listen", self._nonce, self._theirs)
        ):
            raise WireError("the other side could not prove that it knows the secret")
        return b"", True, rest

    def _answer(self, secret: bytes, line: bytes) -> bytes:
        challenge = _CHALLENGE.fullmatch(line)
        if challenge is None:
            raise WireError("the other side did not ask for the secret; does it have one?")
        self._theirs = challenge[1]
        proof = _proof(secret, b"dial", self._theirs, self._nonce)
        return b"AUTH " + self._nonce + b" " + proof + b"\n"


Handshake = ListenerHandshake | DiallerHandshake


class _Line:
    """Waits for the end of one short line."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> tuple[bytes | None, bytes]:
        """Return (the line, what came after it), or (None, nothing) while it has not ended."""
        self._held += data
        line, end, rest = self._held.partition(b"\n")
        if len(line) > MAX_HANDSHAKE_LINE:
            raise WireError("the other side sent something else than a handshake")
        if not end:
            return None, b""
        self._held = b""
        return line.removesuffix(b"\r"), rest


def _proof(secret: bytes, who: bytes, *nonces: bytes) -> bytes:
    return hmac.new(secret, who + b"".join(nonces), "sha256").hexdigest().encode()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_MAX_SECRET_BYTES + 2)
    except OSError as error:
        raise InputError(f"cannot read the secret in {path}: {error.strerror}") from error
    if mode & 0o027:
        raise InputError(
            f"the secret in {path} can be read or changed by others; run: chmod 600 {path}"
        )
    return data


def _checked(data: bytes, origin: str) -> bytes:
    secret = data.strip()
    if not _MIN_SECRET_BYTES <= len(secret) <= _MAX_SECRET_BYTES:
        raise InputError(
            f"the secret in {origin} has {len(secret)} bytes; allowed are {_MIN_SECRET_BYTES} to "
            f"{_MAX_SECRET_BYTES}; make one with: openssl rand -hex 32"
        )
    return secret
