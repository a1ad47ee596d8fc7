"""`gossamer spider`: the Spider as a daemon of its own."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    add_command,
    add_json,
    add_private,
    add_settings,
    load_settings,
)
from gossamer.wording import bytes_in_words, count_in_words, safe_json, visible

if TYPE_CHECKING:
    from gossamer.daemons.peers import Endpoint


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "spider",
        run,
        summary="fetch what URL Servers order and hand it to a Store Server, until SIGTERM",
        examples="""
        gossamer spider --listen 127.0.0.1:4000 --store 127.0.0.1:4001
        gossamer spider --listen 127.0.0.1:4000 --store 127.0.0.1:4001 --spool /var/spool/gossamer
        gossamer spider --listen 127.0.0.1:4000 --store 127.0.0.1:4001 --set spider.Timeout_Req=5000
        gossamer spider --listen 0.0.0.0:4000 --store store.example:4001    needs a shared secret

        Results that the Store Server has not taken wait in the spool, and are sent when it can be
        reached again, by the next process, too. Exit codes: 0 stopped by SIGTERM or SIGINT; 2 bad
        input; 3 the spool is in use; 4 disk.
        """,
    )
    parser.add_argument(
        "--listen", required=True, metavar="HOST:PORT", help="where URL Servers connect"
    )
    parser.add_argument(
        "--store", required=True, metavar="HOST:PORT", help="where the Store Server listens"
    )
    parser.add_argument(
        "--spool",
        type=Path,
        metavar="DIR",
        help="where results wait (~/.local/state/gossamer/spider-PORT)",
    )
    add_settings(parser)
    parser.add_argument(
        "--insecure", action="store_true", help="speak with other machines without a secret"
    )
    add_private(parser)
    add_json(parser, "where it listens, and an account at the end,")


def run(arguments: Namespace) -> int:
    """Serve until a signal comes."""
    overrides = {"url": {"allow_private": True}} if arguments.allow_private else {}
    settings = load_settings(arguments, overrides).settings

    from gossamer.daemons.peers import parse_endpoint, parse_target
    from gossamer.daemons.spider_service import Plan, serve_spider

    plan = Plan(
        listen=parse_endpoint(arguments.listen),
        store=parse_target(arguments.store),
        spool=arguments.spool,
        insecure=arguments.insecure,
    )

    def on_listening(endpoint: "Endpoint") -> None:
        _complain(f"listening on {endpoint}")
        if arguments.json:
            _tell({"event": "listening", "host": endpoint.host, "port": endpoint.port})

    account = serve_spider(plan, settings, on_listening, _complain)
    waiting = bytes_in_words(account.waiting_bytes)
    _complain(
        f"stopped after {count_in_words(account.orders, 'order')}; "
        f"{count_in_words(account.delivered, 'result')} delivered, "
        f"{waiting} wait in {account.spool}"
    )
    if arguments.json:
        _tell({"event": "stopped", **_fields(account)})
    return 0


def _fields(account: object) -> dict[str, object]:
    import msgspec

    fields: dict[str, object] = msgspec.to_builtins(account)
    return fields


def _complain(text: str) -> None:
    try:
        print(f"gossamer: {visible(text)}", file=sys.stderr, flush=True)
    except OSError:
        pass  # Nobody reads it any more; that is no reason to stop serving.


def _tell(event: dict[str, object]) -> None:
    import msgspec

    print(safe_json(msgspec.json.encode(event)).decode(), flush=True)
