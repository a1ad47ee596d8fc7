"""A processor that kills itself at its third page: FOLDER MOMENT, the batch on standard input."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.objects.batch import Batch
from gossamer.objects.coding import decode_object
from gossamer.service import processing
from gossamer.service.opened_contents import open_contents
from gossamer.service.scrape_process import scraped
from gossamer.service.settings import ApplicationSettings, ServiceSettings

THIRD = 3


def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, and is killed right after its third call."""
    calls = []

    def call(*given: Any, **named: Any) -> Any:
        result = function(*given, **named)
        calls.append(1)
        if len(calls) == THIRD:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return call


def main(folder: Path, moment: str) -> None:
    settings = ServiceSettings(application=ApplicationSettings(data_dir=str(folder)))
    with ExitStack() as closing:
        catalog = ServiceCatalog.open(folder / "catalog.db", CatalogSettings(), shared=True)
        closing.callback(catalog.close)
        contents = open_contents(settings, closing, SystemClock())
        scrape = deadly(scraped) if moment == "scraped" else scraped
        if moment == "content":
            contents.put_processed = deadly(contents.put_processed)  # type: ignore[method-assign]
        elif moment in ("begun", "row"):
            name = {"begun": "begin_processing", "row": "finish_processing"}[moment]
            setattr(processing, name, deadly(getattr(processing, name)))
        batch = decode_object(Batch, sys.stdin.buffer.read())
        processing.Processor(catalog, contents, scrape).process_batch(batch)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
