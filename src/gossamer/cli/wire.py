"""`gossamer wire`: look at what daemons say to each other, decode it, send it again."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_json,
    add_settings,
    load_settings,
    seconds,
)
from gossamer.errors import InputError

if TYPE_CHECKING:
    from gossamer.cli.wire_text import Printer
    from gossamer.daemons.wiretap import Told
    from gossamer.wire.readable import Said

_STANDARD_INPUT = Path("-")
# Which arguments an action needs, and which it may have besides.
_NEEDED = {"show": {"listen", "to"}, "decode": {"file"}, "replay": {"file", "to"}}
_ALLOWED = {
    "show": {"capture", "kind", "json", "insecure"},
    "decode": {"kind", "json"},
    "replay": {"json", "fast", "wait", "config", "set"},
}
_ABSENT: tuple[object, ...] = (None, False, [])
_MAX_NONSENSE = 10


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "wire",
        run,
        summary="show what daemons say to each other, decode it, or send it again",
        examples="""
        gossamer wire show --listen 127.0.0.1:4001 --to 127.0.0.1:4000
                       stands between: let the URL Server dial 4001 instead of the Spider's 4000
        gossamer wire show --listen 127.0.0.1:5001 --to 127.0.0.1:5000 --capture link.jsonl
                       keeps all bytes in a file as well; Ctrl-C ends it
        gossamer wire decode link.jsonl              a capture, readable
        gossamer wire decode results.bin --json      a raw stream of results, as JSON Lines
        gossamer wire replay link.jsonl --to 127.0.0.1:5000          with its own timing
        gossamer wire replay results.bin --to 127.0.0.1:5000 --fast  as fast as it is taken

        > is said by the side that dialled, < by the side that listens. The formats, that of a
        capture too, are in docs/reference/wire.md.
        """,
    )
    parser.add_argument("action", choices=("show", "decode", "replay"), help="what to do")
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="decode, replay: a capture, or the raw bytes of one side; - reads a pipe",
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="show: where the dialler calls")
    parser.add_argument("--to", metavar="HOST:PORT", help="show, replay: who listens")
    parser.add_argument("--capture", type=Path, metavar="FILE", help="show: keep all bytes here")
    parser.add_argument(
        "--kind",
        choices=("auto", "lines", "results"),
        help="show, decode: what the dialler sends (auto)",
    )
    parser.add_argument("--fast", action="store_true", help="replay: without the waits")
    parser.add_argument(
        "--wait",
        type=seconds,
        metavar="SECONDS",
        help="replay: how long to listen after the last answer (2)",
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="show: listen where other machines can reach it",
    )
    add_settings(parser)
    add_json(parser, "messages, one a line,")


def run(arguments: Namespace) -> int:
    """Do what was asked for."""
    _check(arguments)
    actions = {"show": _show, "decode": _decode, "replay": _replay}
    return actions[arguments.action](arguments)


def _check(arguments: Namespace) -> None:
    action = arguments.action
    given = {
        name
        for name in set().union(*_NEEDED.values(), *_ALLOWED.values())
        if getattr(arguments, name) not in _ABSENT
    }
    for name in sorted(_NEEDED[action] - given):
        raise InputError(f"wire {action} needs {_flag(name)}; see gossamer wire --help")
    for name in sorted(given - _NEEDED[action] - _ALLOWED[action]):
        raise InputError(f"wire {action} has no use for {_flag(name)}; see gossamer wire --help")


def _flag(name: str) -> str:
    return {"file": "a FILE", "listen": "--listen HOST:PORT", "to": "--to HOST:PORT"}.get(
        name, f"--{name}"
    )


def _show(arguments: Namespace) -> int:
    from gossamer.cli.wire_text import Printer
    from gossamer.clock import SystemClock
    from gossamer.daemons.capture import CaptureWriter
    from gossamer.daemons.endpoints import endpoint_of, listen, parse_endpoint, parse_target
    from gossamer.daemons.wiretap import Relay, record_of

    clock = SystemClock()
    printer = Printer(as_json=arguments.json, kind=arguments.kind)
    with ExitStack() as stack:
        # The secret is a matter of the two ends: whoever gets through to us gets no further.
        listener = stack.enter_context(
            listen(parse_endpoint(arguments.listen), None, arguments.insecure)
        )
        target = parse_target(arguments.to)
        began_at = clock.time()
        capture = CaptureWriter(arguments.capture, began_at) if arguments.capture else None
        if capture:
            stack.callback(capture.close)

        def tell(told: "Told") -> None:
            if capture:
                capture.write(record_of(told, began_at))
            printer.tell(told)

        relay = Relay(listener, target, clock, tell)
        stack.callback(relay.close)
        printer.listening(str(endpoint_of(listener)), str(target))
        with _until_told_to_stop() as stopped:
            while not stopped():
                relay.run_once()
    return 0


@contextmanager
def _until_told_to_stop() -> Iterator[Callable[[], bool]]:
    """Turn SIGINT and SIGTERM into an answer: to stop is how looking ends."""
    import signal

    caught: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: caught.append(number)) for number in numbers]
    try:
        yield lambda: bool(caught)
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _decode(arguments: Namespace) -> int:
    from gossamer.cli.wire_text import Printer
    from gossamer.daemons.capture import read_capture
    from gossamer.daemons.wiretap import told_in

    printer = Printer(as_json=arguments.json, kind=arguments.kind)
    with _opened(arguments.file) as (file, name):
        capture = read_capture(file, name)
        if capture is None:
            _decode_raw(file, name, printer)
        else:
            head, records = capture
            for record in records:
                printer.tell(told_in(head, record))
            printer.end()
    return 0


def _decode_raw(file: BinaryIO, name: str, printer: "Printer") -> None:
    from gossamer.daemons.capture import read_pieces
    from gossamer.wire.readable import StreamReader

    reader = StreamReader(printer.kind)
    is_stream = False
    # Nonsense at the beginning is told when something comes that makes sense: a stream that was
    # cut out of a longer one may begin within a line.
    unsaid: list[Said] = []
    for piece in read_pieces(file):
        for said in reader.feed(piece):
            unsaid.append(said)
            is_stream = is_stream or said.what != "bad"
            if is_stream:
                for each in unsaid:
                    printer.say(each)
                unsaid.clear()
        if reader.is_lost or len(unsaid) >= _MAX_NONSENSE:
            break
    rest = reader.end()
    if rest is not None and (is_stream or not unsaid):
        raise InputError(f"{name} {rest.text}")
    if not is_stream:
        what = "it begins with nothing that a peer would say" if unsaid else "it is empty"
        raise InputError(f"{name} is neither a capture nor a stream of the wire: {what}")
    if reader.is_lost:
        raise InputError(f"{name}: it cannot be read any further")


def _replay(arguments: Namespace) -> int:
    from gossamer.cli.wire_text import Printer
    from gossamer.clock import SystemClock
    from gossamer.daemons.capture import read_capture, read_pieces
    from gossamer.daemons.endpoints import parse_target
    from gossamer.daemons.handshake import load_secret
    from gossamer.daemons.replay import Piece, Replay, pieces_of

    target = parse_target(arguments.to)
    printer = Printer(as_json=arguments.json, kind="lines")
    secret = load_secret(load_settings(arguments).settings.wire)
    wait = 2.0 if arguments.wait is None else arguments.wait
    with _opened(arguments.file) as (file, name):
        capture = read_capture(file, name)
        pieces = (
            pieces_of(capture[1])
            if capture
            else (Piece(0.0, 1, piece) for piece in read_pieces(file))
        )
        replay = Replay(target, secret, SystemClock(), printer.tell)
        try:
            replay.run(pieces, fast=arguments.fast, wait_seconds=wait)
        finally:
            replay.close()
    if not replay.sent_bytes:
        raise InputError(f"{name} holds nothing that a dialler sent")
    print(f"gossamer: {replay.sent_bytes:,} bytes sent to {target}", file=sys.stderr)
    return 0


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, str]]:
    if path == _STANDARD_INPUT:
        yield sys.stdin.buffer, "standard input"
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with file:
        yield file, str(path)
