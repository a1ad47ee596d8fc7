"""The applications of the service: functions from one JSON text to another.

`gossamer task` runs them as filters, executors run them for the daemon (`executor.py`).
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from msgspec import Struct

from gossamer.crawl.workspace import Workspace
from gossamer.errors import InputError
from gossamer.objects.batch import Batch
from gossamer.objects.coding import MAX_MESSAGE, decode, decode_answer, decode_object, encode
from gossamer.objects.enumerations import Operation
from gossamer.service.catalog_operations import open_operations
from gossamer.service.engine_settings import engine_settings_of
from gossamer.service.envelope import RefusedError, operation_of
from gossamer.service.fields import parse_json
from gossamer.service.opened_processor import open_processor
from gossamer.service.processing import Processor, batch_of
from gossamer.service.settings import ServiceSettings
from gossamer.service.tasks import MAKES_WORKSPACE, crawl_batch


class Output(Struct, frozen=True):
    """What an application gives."""

    body: bytes
    messages: tuple[str, ...] = ()
    """What went wrong on the way, for people."""


def crawl(settings: ServiceSettings, body: bytes, *, allow_private: bool = False) -> Output:
    """Crawl a batch; it comes back with what was crawled without an error (S3.44, S3.70)."""
    engine = engine_settings_of(settings, allow_private=allow_private)
    return Output(encode(crawl_batch(settings, engine, read_batch(body))))


def process(settings: ServiceSettings, body: bytes) -> Output:
    """Process a batch; its URLs come back as they stand then (S3.97, S3.108)."""
    Workspace(settings.data_dir).require(MAKES_WORKSPACE)
    with ExitStack() as closing:
        _, processor = open_processor(settings, closing)
        return processed(processor, body)


def processed(processor: Processor, body: bytes) -> Output:
    """Process a batch with a processor that is open."""
    done = processor.process_batch(read_batch(body))
    return Output(encode(done.batch), tuple(done.messages))


def db(settings: ServiceSettings, body: bytes) -> Output:
    """Carry out an operation on the databases (S3.111)."""
    operation, payload = _operation(_plain(body))
    operations = open_operations(settings)
    try:
        return Output(encode(operations.execute(operation, payload)))
    finally:
        operations.close()


APPLICATIONS: Final[dict[str, Callable[[ServiceSettings, bytes], Output]]] = {
    "crawl": crawl,
    "process": process,
    "db": db,
}


def read_batch(body: bytes) -> Batch:
    """Return a Batch, which may come as a list of URLs as URL_FETCH answers it (S3.22)."""
    plain = _plain(body)
    if not isinstance(plain, list):
        return decode_object(Batch, plain)
    urls = decode_answer(Operation.URL_FETCH, plain)
    assert isinstance(urls, list)
    return batch_of(urls)


def _plain(body: bytes) -> object:
    if len(body) > MAX_MESSAGE:
        raise InputError(f"standard input is longer than {MAX_MESSAGE} bytes")
    plain: object = parse_json(body, "standard input")
    return plain


def _operation(plain: object) -> tuple[Operation, object]:
    match plain:
        case [(int() | str()) as code, payload] if not isinstance(code, bool):
            try:
                operation = operation_of(code)
            except RefusedError as error:
                raise InputError(str(error)) from error
            return operation, decode(operation, payload)
    raise InputError("standard input is not a pair of an operation's code and its object")
