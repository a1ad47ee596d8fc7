"""`gossamer store-server`: keep what Spiders fetch, and enter in the catalog what it says."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_directory,
    add_json,
    add_private,
    add_settings,
    add_workers,
    load_settings,
)
from gossamer.cli.crawl import add_scope
from gossamer.wording import count_in_words, safe_json, visible

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.daemons.peers import Endpoint
    from gossamer.daemons.store_server import Tally

_WORKER = "gossamer.daemons.store_worker"


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "store-server",
        run,
        summary="receive what Spiders fetch, save it, and enter what it says in a workspace",
        examples="""
        gossamer store-server --listen 127.0.0.1:4100 --dir example
        gossamer store-server --listen 127.0.0.1:4100 --dir example --scope domain --max-depth 3
        GOSSAMER_SECRET=... gossamer store-server --listen 0.0.0.0:4100 --dir example

        A URL server and a Spider belong to it: gossamer url-server --help, gossamer spider --help.
        SIGTERM ends it when everything received is saved, with exit code 0.
        """,
    )
    parser.add_argument(
        "--listen",
        required=True,
        metavar="HOST:PORT",
        help="where Spiders connect to; port 0: any that is free",
    )
    add_directory(parser)
    add_workers(parser)
    add_scope(parser)
    add_private(parser)
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="listen without a secret where other machines can connect",
    )
    add_settings(parser)
    add_json(parser, "where it listens, and at the end what it did, each a line of it,")


def run(arguments: Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C."""
    settings = _settings_from(arguments)

    from gossamer.crawl.launch import launched, worker_count
    from gossamer.daemons.endpoints import parse_endpoint

    endpoint = parse_endpoint(arguments.listen)
    with launched(worker_count(settings.crawl.workers), _WORKER) as workers:
        from gossamer.daemons.store_setup import serve

        tally = serve(
            arguments.dir,
            endpoint,
            settings,
            insecure=arguments.insecure,
            launched=workers,
            on_listening=lambda place: _print_place(place, as_json=arguments.json),
            tell=_complain,
        )
    _print_tally(tally, as_json=arguments.json)
    return 0


def _settings_from(arguments: Namespace) -> "Settings":
    flags: dict[str, dict[str, object]] = {
        "crawl": {
            "max_depth": arguments.max_depth,
            "scope": arguments.scope,
            "include": arguments.include,
            "exclude": arguments.exclude,
            "workers": arguments.workers,
        },
        "url": {"allow_private": arguments.allow_private or None},
    }
    set_flags = {
        table: {name: value for name, value in entries.items() if value is not None}
        for table, entries in flags.items()
    }
    return load_settings(arguments, set_flags).settings


def _print_place(place: "Endpoint", *, as_json: bool) -> None:
    _complain(f"listening on {place}")
    if as_json:
        _tell({"event": "listening", "host": place.host, "port": place.port})


def _print_tally(tally: "Tally", *, as_json: bool) -> None:
    import msgspec

    left = f", {tally.unsaved:,} not saved (they will be sent again)" if tally.unsaved else ""
    received = count_in_words(tally.results, "result")
    _complain(f"stopped: {received} received, {tally.stale:,} of them stale{left}")
    if as_json:
        _tell({"event": "stopped", **msgspec.to_builtins(tally)})


def _complain(text: str) -> None:
    try:
        print(f"gossamer: {visible(text)}", file=sys.stderr, flush=True)
    except OSError:
        pass  # Nobody reads it any more; that is no reason to stop serving.


def _tell(event: dict[str, object]) -> None:
    import msgspec

    print(safe_json(msgspec.json.encode(event)).decode(), flush=True)
