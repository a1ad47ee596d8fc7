"""Crawlee for Python: follow every link of one host; keep URL and title of each page."""

import asyncio
import logging
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

URL, FOLDER, CONCURRENCY = sys.argv[1], sys.argv[2], int(sys.argv[3])


async def main() -> None:
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(
            min_concurrency=CONCURRENCY,
            desired_concurrency=CONCURRENCY,
            max_concurrency=CONCURRENCY,
        ),
        # The fastest of its storages: nothing survives the process.
        storage_client=MemoryStorageClient(),
        respect_robots_txt_file=True,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        title = context.selector.css("title::text").get()
        await context.push_data({"url": context.request.url, "title": title})
        await context.enqueue_links(strategy="same-hostname")

    logging.disable(logging.WARNING)
    await crawler.run([URL])


asyncio.run(main())
