"""`gossamer task`: the applications of the crawling service as filters, JSON in and JSON out."""

import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, Parser, add_command, add_group, add_private, folder
from gossamer.wording import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.service.applications import Output
    from gossamer.service.settings import ServiceSettings

EXIT_CRITICAL = 1


def register(commands: Commands) -> None:
    """Declare the group and its commands."""
    members = add_group(
        commands,
        "task",
        summary="crawl, process and keep as filters: JSON in, JSON out",
        examples="""
        echo '[3, {"id": "0"}]' | gossamer task db --config dc-daemon.ini
        gossamer task crawl --config dc-daemon.ini < batch.json > crawled.json
        gossamer task process --config dc-daemon.ini < batch.json > processed.json
        gossamer task COMMAND --help                           flags and examples of a command
        """,
    )
    _register_crawl(members)
    _register_process(members)
    _register_db(members)


def _register_crawl(commands: Commands) -> None:
    parser = add_command(
        commands,
        "crawl",
        run_crawl,
        summary="crawl the URLs of a batch",
        examples="""
        gossamer task crawl --config dc-daemon.ini < batch.json > crawled.json
        echo '[10, {"maxURLs": 5}]' | gossamer task db --dir W | gossamer task crawl --dir W

        Standard input is a Batch, or a list of URLs as URL_FETCH answers it. The Batch goes to
        standard output, with the URLs that were crawled without an error, in as many iterations
        as it asks for. No daemon may crawl in the same folder meanwhile. Exit codes: 0 done,
        1 critical error.
        """,
    )
    add_place(parser)
    add_private(parser)


def _register_process(commands: Commands) -> None:
    parser = add_command(
        commands,
        "process",
        run_process,
        summary="process a batch of crawled URLs",
        examples="""
        gossamer task process --config dc-daemon.ini < batch.json > processed.json
        echo '[10, {"maxURLs": 5}]' | gossamer task db --dir W | gossamer task process --dir W

        Standard input is a Batch, or a list of URLs as URL_FETCH answers it. The Batch goes to
        standard output, with each URL as it stands then. Exit codes: 0 done, 1 critical error.
        """,
    )
    add_place(parser)


def _register_db(commands: Commands) -> None:
    parser = add_command(
        commands,
        "db",
        run_db,
        summary="carry out one operation on the databases",
        examples="""
        echo '[1, {"urls": ["https://example.org/"]}]' | gossamer task db --dir W
        echo '["SITE_STATUS", {"id": "0"}]' | gossamer task db --config dc-daemon.ini

        Standard input is a pair: the code or the name of an operation, and its object. The answer
        goes to standard output. Exit codes: 0 there is an answer, 1 critical error.
        """,
    )
    add_place(parser)


def add_place(parser: Parser) -> None:
    """Add --config and --dir, of which one is needed."""
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument(
        "--config", type=Path, metavar="FILE", help="configuration of the service (ini)"
    )
    place.add_argument(
        "--dir", type=folder, metavar="WORKSPACE", help="the folder that holds all data"
    )


def place_of(arguments: Namespace) -> "ServiceSettings":
    """Return the settings that the flags mean; --dir has the defaults of everything else."""
    from gossamer.service.settings import ApplicationSettings, ServiceSettings

    if arguments.config is not None:
        from gossamer.service.ini import load

        return load(arguments.config)
    data_dir = str(arguments.dir.absolute())
    return ServiceSettings(application=ApplicationSettings(data_dir=data_dir))


def run_crawl(arguments: Namespace) -> int:
    """Crawl the batch on standard input (S3.44, S3.70)."""
    from gossamer.service.applications import crawl

    return _run(arguments, partial(crawl, allow_private=arguments.allow_private))


def run_process(arguments: Namespace) -> int:
    """Process the batch on standard input (S3.97, S3.108)."""
    from gossamer.service.applications import process

    return _run(arguments, process)


def run_db(arguments: Namespace) -> int:
    """Carry out the operation on standard input (S3.111)."""
    from gossamer.service.applications import db

    return _run(arguments, db)


def _run(arguments: Namespace, application: "Callable[[ServiceSettings, bytes], Output]") -> int:
    """Run an application on standard input; what went wrong on the way goes to standard error."""
    from gossamer.errors import GossamerError
    from gossamer.objects.coding import MAX_MESSAGE

    try:
        settings = place_of(arguments)
        # One byte more, by which it is seen to be too long.
        output = application(settings, sys.stdin.buffer.read(MAX_MESSAGE + 1))
    except GossamerError as error:
        return _complain(str(error))
    for message in output.messages:
        _complain(message)
    sys.stdout.buffer.write(output.body + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _complain(text: str) -> int:
    print(f"gossamer: {visible(text)}", file=sys.stderr)
    return EXIT_CRITICAL
