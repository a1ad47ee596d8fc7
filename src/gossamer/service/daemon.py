"""`dc-daemon`: from a configuration file to a running service."""

import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.errors import StorageError
from gossamer.service.ini import find, load
from gossamer.service.journal import Journal, open_journal
from gossamer.service.operations import load_parts
from gossamer.service.settings import ServiceSettings
from gossamer.service.supervisor import Supervisor

PROGRAM: Final = "dc-daemon"


def run_daemon(
    config: Path | None,
    name: str | None = None,
    *,
    background: bool = False,
    clock: Clock | None = None,
) -> int:
    """Serve until STOP or a signal; return the exit code.

    Raises ConfigError for a configuration that cannot be used, before anything is started.
    """
    settings = load(config or find(PROGRAM))
    parts = load_parts(settings)
    instance = name or settings.application.name or PROGRAM
    settings = msgspec.structs.replace(
        settings, application=msgspec.structs.replace(settings.application, name=instance)
    )
    clock = clock or SystemClock()
    log_file = settings.application.log_file
    descriptor = open_journal(settings.place(log_file) if log_file else None)
    journal = Journal(instance, settings.application.log_level, descriptor, clock)
    if background:
        _go_into_background(keep=descriptor)
    _make_data_dir(settings)
    pid_file = _write_pid(settings)
    try:
        return Supervisor(settings, instance, parts, clock, journal).run()
    finally:
        if pid_file is not None:
            pid_file.unlink(missing_ok=True)


def _make_data_dir(settings: ServiceSettings) -> None:
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot make the data directory {settings.data_dir}: {error.strerror}"
        ) from error


def _write_pid(settings: ServiceSettings) -> Path | None:
    if not settings.application.pid_file:
        return None
    path = settings.place(settings.application.pid_file)
    try:
        path.write_text(f"{os.getpid()}\n", encoding="ascii")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
    return path


def _go_into_background(keep: int) -> None:
    """Become a process without a terminal; whoever started it gets the exit code 0 at once."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in {0, 1, 2} - {keep}:
        os.dup2(nothing, descriptor)
