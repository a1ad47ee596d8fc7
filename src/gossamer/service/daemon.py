"""`dc-daemon`: from a configuration file to a running service."""

import os
from pathlib import Path
from typing import Final

import msgspec

from gossamer.clock import Clock, SystemClock
from gossamer.crawl.pipeline import locked
from gossamer.errors import GossamerError, StorageError
from gossamer.service.background import Starter, go_into_background
from gossamer.service.data_folder import make_data_dir
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

    Raises ConfigError for a configuration that cannot be used, before anything is started. In the
    background, whoever started it has its exit code as soon as it is ready, or has failed.
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
    starter = go_into_background(PROGRAM, descriptor) if background else Starter()
    try:
        return _serve(Supervisor(settings, instance, parts, clock, journal, starter), settings)
    except GossamerError as error:
        starter.tell(str(error))
        raise


def _serve(supervisor: Supervisor, settings: ServiceSettings) -> int:
    workspace = make_data_dir(settings)
    # Two daemons in one folder would both make batches there, and only one could crawl them.
    with locked(workspace, SystemClock(), "dc-daemon"):
        pid_file = _write_pid(settings)
        try:
            return supervisor.run()
        finally:
            if pid_file is not None:
                pid_file.unlink(missing_ok=True)


def _write_pid(settings: ServiceSettings) -> Path | None:
    if not settings.application.pid_file:
        return None
    path = settings.place(settings.application.pid_file)
    try:
        path.write_text(f"{os.getpid()}\n", encoding="ascii")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
    return path
