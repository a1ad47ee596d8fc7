"""The way into the background: whoever started the daemon waits until it serves, or cannot."""

import os
import sys
from typing import Final

from gossamer.wording import visible

_MOST: Final = 4_096


class Starter:
    """Whoever started the daemon: is told once how the start went, if somebody waits."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor

    def tell(self, problem: str = "") -> None:
        """Say that the daemon serves or, with a problem, that it does not."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            os.write(descriptor, visible(problem).encode()[:_MOST] or b"\n")
        except OSError:
            pass  # Nobody waits any more.
        os.close(descriptor)


def go_into_background(program: str, keep: int) -> Starter:
    """Become a process without a terminal; whoever started it waits for the word of the Starter.

    What this process and those that it starts print goes where the journal goes.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        _wait(program, reader)
    os.close(reader)
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for descriptor in {1, 2} - {keep}:
        os.dup2(keep, descriptor)
    return Starter(writer)


def _wait(program: str, reader: int) -> None:
    """End the process that was started, with the exit code that the daemon has earned so far."""
    told = b""
    while part := os.read(reader, _MOST):
        told += part
    if told == b"\n":
        os._exit(0)
    text = told.decode(errors="replace") or "it ended before it was ready"
    os.write(2, f"{program}: {text}\n".encode())
    os._exit(1)
