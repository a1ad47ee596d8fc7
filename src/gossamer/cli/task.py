"""`gossamer task`: the applications of the crawling service as filters, JSON in and JSON out."""

import sys
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.arguments import Commands, Parser, add_command, add_group
from gossamer.wording import visible

if TYPE_CHECKING:
    from gossamer.objects.batch import Batch
    from gossamer.objects.enumerations import Operation
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
        standard output, with the URLs that were crawled without an error. No daemon may crawl in
        the same folder meanwhile. Exit codes: 0 done, 1 critical error.
        """,
    )
    add_place(parser)
    parser.add_argument(
        "--allow-private", action="store_true", help="lift the address policy: your own network"
    )


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
        "--dir", type=Path, metavar="WORKSPACE", help="the folder that holds all data"
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
    from gossamer.errors import GossamerError
    from gossamer.objects.coding import encode

    try:
        batch = _batch(_input())
        settings = place_of(arguments)
        from gossamer.service.engine_settings import engine_settings_of
        from gossamer.service.tasks import crawl_batch

        engine = engine_settings_of(settings, allow_private=arguments.allow_private)
        crawled = crawl_batch(settings.data_dir, engine, batch)
    except GossamerError as error:
        return _complain(str(error))
    _print(encode(crawled))
    return 0


def run_process(arguments: Namespace) -> int:
    """Process the batch on standard input (S3.97, S3.108)."""
    from gossamer.errors import GossamerError
    from gossamer.objects.coding import encode

    try:
        batch = _batch(_input())
        settings = place_of(arguments)
        from gossamer.crawl.workspace import Workspace
        from gossamer.service.processing_task import open_processor

        Workspace(settings.data_dir).require()
        with ExitStack() as closing:
            _, processor = open_processor(settings, closing)
            done = processor.process_batch(batch)
    except GossamerError as error:
        return _complain(str(error))
    for message in done.messages:
        _complain(message)
    _print(encode(done.batch))
    return 0


def run_db(arguments: Namespace) -> int:
    """Carry out the operation on standard input (S3.111)."""
    from gossamer.errors import GossamerError
    from gossamer.objects.coding import encode

    try:
        operation, payload = _operation(_input())
        settings = place_of(arguments)
        from gossamer.service.catalog_operations import open_operations

        operations = open_operations(settings)
        try:
            answer = operations.execute(operation, payload)
        finally:
            operations.close()
    except GossamerError as error:
        return _complain(str(error))
    _print(encode(answer))
    return 0


def _input() -> object:
    """Return what standard input holds."""
    from gossamer.errors import InputError
    from gossamer.objects.coding import MAX_MESSAGE
    from gossamer.service.fields import parse_json

    data = sys.stdin.buffer.read(MAX_MESSAGE + 1)
    if len(data) > MAX_MESSAGE:
        raise InputError(f"standard input is longer than {MAX_MESSAGE} bytes")
    plain: object = parse_json(data, "standard input")
    return plain


def _batch(plain: object) -> "Batch":
    from gossamer.objects.batch import Batch
    from gossamer.objects.coding import decode_answer, decode_object
    from gossamer.objects.enumerations import Operation

    if not isinstance(plain, list):
        return decode_object(Batch, plain)
    from gossamer.service.processing import batch_of

    urls = decode_answer(Operation.URL_FETCH, plain)
    assert isinstance(urls, list)
    return batch_of(urls)


def _operation(plain: object) -> "tuple[Operation, object]":
    from gossamer.errors import InputError
    from gossamer.objects.coding import decode
    from gossamer.service.envelope import RefusedError, operation_of

    match plain:
        case [(int() | str()) as code, payload] if not isinstance(code, bool):
            try:
                operation = operation_of(code)
            except RefusedError as error:
                raise InputError(str(error)) from error
            return operation, decode(operation, payload)
    raise InputError("standard input is not a pair of an operation's code and its object")


def _print(answer: bytes) -> None:
    sys.stdout.buffer.write(answer + b"\n")
    sys.stdout.buffer.flush()


def _complain(text: str) -> int:
    print(f"gossamer: {visible(text)}", file=sys.stderr)
    return EXIT_CRITICAL
