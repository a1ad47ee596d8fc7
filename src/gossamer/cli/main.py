"""The entry point: run a command, turn whatever happens into one line and an exit code."""

import atexit
import errno
import io
import os
import sys
import threading
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from gossamer.cli.arguments import Parser, new_parser
from gossamer.cli.terminal import complain, drop_output
from gossamer.crawl.memory import collect_rarely
from gossamer.errors import GossamerError, InputError, StorageError
from gossamer.wording import visible

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

# In the order of the help. Each is a module of this room.
_COMMANDS = (
    "site",
    "crawl",
    "news",
    "service",
    "task",
    "add",
    "status",
    "export",
    "show",
    "url-server",
    "spider",
    "store-server",
    "wire",
    "doctor",
    "config",
    "completion",
    "version",
)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_TOO_MANY_OPEN = frozenset({errno.EMFILE, errno.ENFILE})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    collect_rarely()
    _stand_in_for_closed_streams()
    _escape_what_cannot_be_encoded()
    # What a command leaves here is not freed before the process ends: see `_leave`.
    arguments = Namespace()
    code = _run(words, arguments)
    if argv is None:
        _leave(code)
    return code


def parser(asked: Sequence[str] = ()) -> Parser:
    """Return the parser of the command asked for, else of all, which takes five times as long."""
    top, commands = new_parser()
    for name in asked if asked and asked[0] in _COMMANDS else _COMMANDS:
        import_module(f"gossamer.cli.{name.replace('-', '_')}").register(commands)
    return top


def _run(words: Sequence[str], arguments: Namespace) -> int:
    debug = "--debug" in words
    try:
        code = _obey(words, arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _complain("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`| head`): end as quietly as other tools do.
        drop_output()
        return EXIT_BROKEN_PIPE
    except GossamerError as error:
        if debug:
            _print_traceback()
        return _complain(str(error), error.exit_code)
    except OSError as error:
        if debug:
            _print_traceback()
        if error.errno in _FULL:
            drop_output()
            return _complain(
                f"cannot write: {error}; make room and run again", StorageError.exit_code
            )
        if error.errno in _TOO_MANY_OPEN:
            return _complain(
                f"cannot go on: {error}; allow more (ulimit -n), or use fewer --workers and a "
                "smaller --concurrency",
                StorageError.exit_code,
            )
        return _unexpected(error, debug)
    except Exception as error:  # noqa: BLE001 - the last border: a bug ends in one line, not a dump
        if debug:
            _print_traceback()
        return _unexpected(error, debug)
    return code


def _obey(words: Sequence[str], arguments: Namespace) -> int:
    try:
        parser(words[:1]).parse_args(words, arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    _check_encoding(words)
    code: int = arguments.run(arguments)
    return code


def _stand_in_for_closed_streams() -> None:
    """Open what the caller closed (`>&-`), so that no file of ours takes its number and its text.

    In this order each takes the lowest number that is free, which is its own.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _escape_what_cannot_be_encoded() -> None:
    """Have text for people shown with escapes where the terminal's encoding lacks a letter."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _check_encoding(words: Sequence[str]) -> None:
    """Refuse bytes that are not UTF-8 here; they could be neither stored nor shown later."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the argument {visible(word)} is not valid UTF-8") from error


def _complain(message: str, code: int) -> int:
    complain(message)
    return code


def _unexpected(error: Exception, debug: bool) -> int:
    advice = "" if debug else "; run again with --debug for details and report it"
    return _complain(f"internal error: {type(error).__name__}: {error}{advice}", EXIT_INTERNAL)


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


def _leave(code: int) -> None:
    """End the process without taking it apart: what it consists of is gone with it.

    The interpreter would look at and free every object, which takes as long as a dozen pages.
    Returns where the long way must be gone: threads run on, or output cannot be written.
    """
    own = threading.current_thread()
    if any(thread is not own and not thread.daemon for thread in threading.enumerate()):
        return
    atexit._run_exitfuncs()  # noqa: SLF001 - a handler of the user's own may have left some
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError, AttributeError):
        return
    os._exit(code)
