"""What travels: requests and answers on the ports, and messages between threads. All is JSON.

Theory of operation. A request may come from anybody, so it passes three gates in order: its length,
the depth of its nesting (found without recursion), and the schema. What does not pass is answered
with a problem from a closed list, and goes no further.
"""

import re
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from gossamer.objects.enumerations import HOST_OPERATIONS, Operation
from gossamer.service.names import OTHER_NAMES
from gossamer.wording import shortened

_TEXT: Final = re.compile(rb'"[^"]*"')
_ROUND: Final = bytes.maketrans(b"{}", b"[]")
_NO_STRUCTURE: Final = bytes(set(range(256)) - set(b'"[]{}'))
_LONGEST_ID: Final = 128
_Kind = TypeVar("_Kind", bound=Struct)


class Problem(StrEnum):
    """Why a request is not carried out; the first word of the error message."""

    TOO_LONG = "MESSAGE_TOO_LONG"
    TOO_DEEP = "MESSAGE_TOO_DEEP"
    MALFORMED = "MALFORMED_MESSAGE"
    UNKNOWN_OPERATION = "UNKNOWN_OPERATION"
    BAD_OBJECT = "BAD_OBJECT"
    NOT_ALLOWED = "NOT_ALLOWED"
    BUSY = "BUSY"
    SUSPENDED = "SUSPENDED"
    TIMEOUT = "TIMEOUT"
    FAILED = "EXECUTION_FAILED"
    LOST = "THREAD_LOST"


class RefusedError(Exception):
    """A request is not carried out, for a reason from the list."""

    def __init__(self, problem: Problem, detail: str) -> None:
        super().__init__(f"{problem}: {shortened(detail, 500)}")
        self.problem = problem


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """What a client sends."""

    operation: int | str
    object: Raw
    id: str = ""
    """Comes back in the answer."""


class Answer(Struct, frozen=True):
    """What a client gets; `operation` is that of the request plus 100, or 0 if it had none."""

    id: str
    operation: int
    response: Raw
    """A ClientResponse."""


class AdminRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What an administrator sends."""

    command: str
    classes: list[str] = []
    fields: list[str] | dict[str, Any] = []
    id: str = ""


class AdminAnswer(Struct, frozen=True):
    """What an administrator gets: a pair [{className, fields}, error] for each class."""

    id: str
    pairs: list[tuple[dict[str, Any], int]]


class Task(Struct, frozen=True):
    """Between threads: carry this out."""

    id: int
    operation: int
    object: Raw


class Done(Struct, frozen=True):
    """Between threads: it is done, or not."""

    id: int
    error_code: int
    error_message: str
    milliseconds: float
    object: Raw


class Ask(Struct, frozen=True):
    """Between threads: an administrator wants something of a class."""

    id: int
    command: str
    fields: Any


class Told(Struct, frozen=True):
    """Between threads: what the class says. The id 0 is for registering."""

    id: int
    fields: dict[str, Any]
    error: int = 0


def check_size(body: bytes, most_bytes: int, most_deep: int) -> None:
    """Refuse what is too long or nested too deeply."""
    if len(body) > most_bytes:
        raise RefusedError(Problem.TOO_LONG, f"{len(body)} bytes; allowed are {most_bytes}")
    if is_deeper(body, most_deep):
        raise RefusedError(Problem.TOO_DEEP, f"more than {most_deep} objects and lists in another")


def is_deeper(body: bytes, most: int) -> bool:
    """Whether JSON is nested deeper than so many levels. Takes time in proportion to its length.

    What is not JSON may get either answer: it does not pass the decoder.
    """
    if b"\\" in body:
        # Backslashes that mean themselves, then those before a quote; no others hide anything.
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Only quotes and brackets are left. Two quotes side by side end and begin a text, or are an
    # empty one: without them it is the same inside and outside, and there is less to search.
    marks = body.translate(None, _NO_STRUCTURE).replace(b'""', b"")
    # Then only brackets, and level by level is taken away.
    brackets = _TEXT.sub(b"", marks).translate(_ROUND)
    for _ in range(most):
        outer = brackets.replace(b"[]", b"")
        if not outer:
            return False
        if len(outer) == len(brackets):
            return len(brackets) > most
        brackets = outer
    return bool(brackets)


def read_request(body: bytes) -> Request:
    """Return a client's request."""
    request = _read(Request, body)
    if len(request.id) > _LONGEST_ID:
        raise RefusedError(Problem.MALFORMED, f"the id is longer than {_LONGEST_ID} characters")
    return request


def read_admin_request(body: bytes) -> AdminRequest:
    """Return an administrator's request."""
    return _read(AdminRequest, body)


def operation_of(code: int | str) -> Operation:
    """Return the operation of a code or name; names of the client program are known, too."""
    try:
        if isinstance(code, int):
            return Operation(code)
        return OTHER_NAMES.get(code) or Operation[code]
    except (ValueError, KeyError):
        # Of hosts among themselves no client needs to know.
        allowed = set(Operation) - HOST_OPERATIONS
        first, last = min(allowed), max(allowed)
        raise RefusedError(
            Problem.UNKNOWN_OPERATION,
            f"{code}; allowed are {first.value} ({first.name}) to {last.value} ({last.name})",
        ) from None


def _read(kind: type[_Kind], body: bytes) -> _Kind:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise RefusedError(Problem.MALFORMED, str(error)) from error
