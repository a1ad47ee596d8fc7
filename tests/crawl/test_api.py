"""The Python interface against the fake web: typed pages, stops, handlers, errors."""

import asyncio
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import aclosing
from pathlib import Path

import pytest
from harness import Onlooker, children_of, pages_in, read_jsonl

import gossamer
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.load import load
from gossamer.errors import StoppedError
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb

FAST = {"delay": 0, "per_host": 8, "scope": "any", "allow_private": True}


async def collect(*urls: str, **options: object) -> list[gossamer.Page]:
    return [page async for page in gossamer.crawl(*urls, **options)]  # type: ignore[arg-type]  # tests give every option by name


def crawler_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "gossamer-crawl"]


def test_pages_come_typed_and_whole_inside_a_running_loop(tmp_path: Path):
    """The loop goes on meanwhile, and every page of the web is handed over once, as served."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def main(web: FakeWeb) -> list[gossamer.Page]:
        async with asyncio.TaskGroup() as group:
            ticker = group.create_task(tick())
            pages = await collect(*web.start_urls, directory=tmp_path / "w", **FAST)
            ticker.cancel()
        return pages

    with FakeWeb(pages=60, hosts=3, seed=4) as web:
        pages = asyncio.run(main(web))
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    documents = {page.url: page for page in pages if page.status == 200}
    assert len(documents) == sum(page.status == 200 for page in pages)
    assert set(documents) == {*truth["pages"], *truth["duplicates"], *truth["near_duplicates"]}
    assert ticks > 5, "the event loop was held up"
    for page in documents.values():
        assert isinstance(page, gossamer.Page)
        assert page.outcome == "ok"
        assert page.content_type == "text/html"
        assert page.headers["content-length"] == str(len(page.body))
        assert page.body.startswith(b"<!DOCTYPE html>")
        assert page.title in page.text
        assert all(link.startswith("http://127.") for link in page.links)
        assert page.fetched_at == pytest.approx(time.time(), abs=120)
    home = documents[truth["start_urls"][0]]
    assert home.depth == 0
    assert len(home.links) > 5
    assert set(home.assets) == {"css", "img"}
    assert home.assets["css"] == (web.start_url + "static/style.css",)


def test_a_limit_is_exact_and_a_second_crawl_in_the_process_does_not_mind_the_first():
    async def main(web: FakeWeb) -> tuple[list[gossamer.Page], list[gossamer.Page]]:
        first = await collect(web.start_url, max_pages=7, **FAST)
        both = await asyncio.gather(
            collect(web.start_url, max_pages=11, **FAST),
            collect(web.start_url, max_pages=5, workers=0, **FAST),
        )
        assert len(both[1]) == 5
        return first, both[0]

    with FakeWeb(pages=60, hosts=1, seed=4, redirects=0, gone=0, sitemap_pages=3) as web:
        first, second = asyncio.run(main(web))
    assert len(first) == len({page.url for page in first}) == 7
    assert len(second) == len({page.url for page in second}) == 11
    assert crawler_threads() == []


@pytest.mark.parametrize("workers", [0, 2])
def test_leaving_the_loop_early_stops_the_crawl_and_its_workers(tmp_path: Path, workers: int):
    async def main(web: FakeWeb) -> None:
        crawl = gossamer.crawl(
            web.start_url, directory=tmp_path / "w", workers=workers, concurrency=4, **FAST
        )
        async with aclosing(crawl) as pages:
            async for _page in pages:
                break

    with FakeWeb(pages=2_000, hosts=1, seed=4, latency_ms=20) as web:
        before = children_of(os.getpid())
        asyncio.run(main(web))
        assert children_of(os.getpid()) == before
        assert crawler_threads() == []
        asked = Onlooker(web.log_path).requests()
        assert asked < 1_000
        time.sleep(0.3)
        assert Onlooker(web.log_path).requests() == asked
        assert judge.refetches(web.log()) == {}
    with SqliteCatalog.open(
        tmp_path / "w" / "catalog.db", CatalogSettings(), read_only=True
    ) as catalog:
        assert catalog.counts().leased == 0
        assert catalog.check() == []


def test_a_crawl_that_is_cancelled_stops(tmp_path: Path):
    async def main(web: FakeWeb) -> None:
        task = asyncio.create_task(collect(web.start_url, directory=tmp_path / "w", **FAST))
        onlooker = Onlooker(web.log_path)
        while await asyncio.sleep(0.01, onlooker.requests() < 20):
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with FakeWeb(pages=2_000, hosts=1, seed=4, latency_ms=20) as web:
        asyncio.run(main(web))
        asked = len(web.log().requests)
        time.sleep(0.3)
        assert len(web.log().requests) == asked < 1_000
    assert crawler_threads() == []


def open_files(workspace: Path) -> set[str]:
    """Return the descriptors of this process that lead into a workspace."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = entry.readlink()
        except OSError:
            continue
        if target.is_relative_to(workspace):
            found.add(f"{entry.name} {target.name}")
    return found


def test_the_catalog_is_opened_once_for_all_pages(tmp_path: Path):
    """The descriptor that pages are read by is the same from the first page to the last."""
    seen: list[set[str]] = []

    async def main(web: FakeWeb) -> None:
        async for _page in gossamer.crawl(web.start_url, directory=tmp_path / "w", **FAST):
            seen.append(
                {each for each in open_files(tmp_path / "w") if each.endswith("catalog.db")}
            )
            await asyncio.sleep(0.002)

    with FakeWeb(pages=60, hosts=1, seed=4) as web:
        asyncio.run(main(web))
    assert len(seen) > 50
    # The writer may have ended before the first page is looked at; the reader's stays.
    (reader, *_), together = set.intersection(*seen), set.union(*seen)
    assert len(together - {reader}) <= 1, "beside the reader's there is only the writer's"
    assert open_files(tmp_path / "w") == set()
    shutil.copy(tmp_path / "w" / "catalog.db", tmp_path / "alone.db")
    with SqliteCatalog.open(tmp_path / "alone.db", CatalogSettings(), read_only=True) as catalog:
        assert catalog.counts().done >= len(seen), "the file alone is the whole catalog"


@pytest.mark.parametrize("way", ["end", "break", "error", "cancel", "abandon"])
def test_nothing_stays_open_whichever_way_out_is_taken(tmp_path: Path, way: str):
    async def pages(web: FakeWeb) -> None:
        crawl = gossamer.crawl(web.start_url, directory=tmp_path / "w", **FAST)
        if way == "abandon":
            await anext(crawl)
            return
        async with aclosing(crawl):
            async for _page in crawl:
                if way == "break":
                    break
                if way == "error":
                    raise LookupError
                if way == "cancel":
                    # It comes while a page is read or awaited, not here.
                    asyncio.get_running_loop().call_soon(cancelled.cancel)

    async def main(web: FakeWeb) -> None:
        nonlocal cancelled
        cancelled = asyncio.create_task(pages(web))
        await cancelled

    cancelled: asyncio.Task[None]
    expected = {"error": LookupError, "cancel": asyncio.CancelledError}.get(way)
    with FakeWeb(pages=30, hosts=1, seed=4) as web:
        if expected is None:
            asyncio.run(main(web))
        else:
            with pytest.raises(expected):
                asyncio.run(main(web))
    assert crawler_threads() == []
    assert open_files(tmp_path / "w") == set()


SCRIPT = '''
import asyncio
import json
import sys

import gossamer

print("top level", file=sys.stderr)


@gossamer.handler
def extra(page):
    """Visit a page that nothing links to, and keep what was seen."""
    yield "/~/changing"
    yield {"url": page.url, "title": page.title, "bytes": len(page.body)}


@gossamer.handler
def faulty(page):
    if page.depth == 1:
        raise ValueError("no such thing")


async def main():
    async for page in gossamer.crawl(
        sys.argv[1], directory=sys.argv[2], workers=int(sys.argv[3]),
        delay=0, allow_private=True, handlers=[extra, faulty],
    ):
        print(json.dumps({"url": page.url, "status": page.status}))


if __name__ == "__main__":
    asyncio.run(main())
'''


@pytest.mark.parametrize("workers", ["0", "2"])
def test_handlers_of_a_script_are_run_in_the_workers(tmp_path: Path, workers: str):
    """The script itself is not run again there, though its functions are found in it."""
    script = tmp_path / "my crawl.py"
    script.write_text(SCRIPT)
    workspace = tmp_path / "w"
    with FakeWeb(pages=30, hosts=1, seed=4) as web:
        result = subprocess.run(
            [sys.executable, str(script), web.start_url, str(workspace), workers],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        asked = pages_in(web.log())
    pages = read_jsonl(result.stdout)
    changing = web.start_url + "~/changing"
    assert asked[changing] == 1
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True) as catalog:
        records = [(url, read_jsonl(record)[0]) for url, record in catalog.records()]
        details = [row.fetch.detail for row in catalog.rows() if row.depth == 1 and row.fetch]
    assert changing in {page["url"] for page in pages}
    assert {url for url, _ in records} == {page["url"] for page in pages}
    assert len(records) == len(pages)
    assert all(url == record["url"] for url, record in records)
    assert next(record for url, record in records if url == web.start_url)["title"]
    assert details
    assert all("faulty: ValueError: no such thing" in detail for detail in details)


@pytest.mark.parametrize(
    ("begin", "hint"),
    [
        ("asyncio.run(main())", 'if __name__ == "__main__":'),
        ("if __name__ == '__main__':\n    hide(extra)\n    asyncio.run(main())", "no hidden at"),
    ],
)
def test_a_script_whose_handlers_workers_cannot_find_is_told_so(
    tmp_path: Path, begin: str, hint: str
):
    """Workers that cannot begin are not replaced without an end, and begin no crawl themselves."""
    definitions, _, _ = SCRIPT.partition("if __name__")
    script = tmp_path / "crawl.py"
    hide = "def hide(function):\n    function.__qualname__ = 'hidden'\n"
    script.write_text(definitions + hide + begin)
    result = subprocess.run(
        [sys.executable, str(script), "http://127.0.0.1/", str(tmp_path / "w"), "1"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.stderr.count("Traceback") == 1, result.stderr
    assert "gossamer.errors.ConfigError: cannot load handler" in result.stderr
    assert hint in result.stderr.splitlines()[-1]


def test_what_is_not_given_is_as_the_settings_file_says(tmp_path: Path):
    """Above all its politeness; what is given wins."""
    config = tmp_path / "gossamer.toml"
    config.write_text("[crawl]\nmax_pages = 3\nworkers = 0\n[urlserver]\nhost_per_second = 5\n")
    workspace = tmp_path / "w"
    with FakeWeb(pages=20, hosts=1, seed=4) as web:
        options = {"directory": workspace, "config": config}
        assert len(asyncio.run(collect(web.start_url, **options))) == 3
        assert judge.gap_violations(web.log(), 0.2) == []
        assert len(asyncio.run(collect(max_pages=5, delay=0, **options))) == 2
    kept = load(workspace / "gossamer.toml", {})
    assert (kept.crawl.workers, kept.crawl.max_pages) == (0, 5)
    assert (kept.urlserver.host_per_second, kept.crawl.scope) == (0, "host")


def test_errors_are_raised_where_the_pages_are_awaited(tmp_path: Path):
    def unmarked(page: gossamer.Page) -> None:
        del page

    with FakeWeb(pages=5, hosts=1, seed=4, robots={-1: "503"}) as web:
        impatient = {"crawl": {"patience_seconds": 0}}
        with pytest.raises(StoppedError, match="1 URL is left that must wait for"):
            asyncio.run(collect(web.start_url, settings=impatient, **FAST))
    with pytest.raises(gossamer.InputError):
        asyncio.run(collect("not a URL"))
    with pytest.raises(gossamer.InputError, match="nothing to crawl"):
        asyncio.run(collect(directory=tmp_path / "empty"))
    with pytest.raises(gossamer.ConfigError, match="max_pages"):
        asyncio.run(collect("http://127.0.0.1/", max_pages=-1))
    for delay in (-1, math.nan, math.inf, 1e9):
        with pytest.raises(gossamer.ConfigError, match=r"delay = .* from 0 to 86400"):
            asyncio.run(collect("http://127.0.0.1/", delay=delay))
    for name in ("include", "exclude"):
        with pytest.raises(gossamer.ConfigError, match=f"{name} = 'docs' .* list of texts"):
            asyncio.run(collect("http://127.0.0.1/", **{name: "docs"}))
    with pytest.raises(gossamer.ConfigError, match=r"@gossamer\.handler"):
        asyncio.run(collect("http://127.0.0.1/", handlers=[unmarked]))
    with pytest.raises(gossamer.ConfigError, match="top level"):
        asyncio.run(collect("http://127.0.0.1/", handlers=[gossamer.handler(unmarked)]))
    assert crawler_threads() == []


def test_a_workspace_in_use_is_refused(tmp_path: Path):
    async def main(web: FakeWeb) -> None:
        crawl = gossamer.crawl(web.start_url, directory=tmp_path / "w", concurrency=2, **FAST)
        async with aclosing(crawl) as pages:
            async for _page in pages:
                with pytest.raises(gossamer.WorkspaceError, match="in use"):
                    await collect(web.start_url, directory=tmp_path / "w", **FAST)
                break

    with FakeWeb(pages=500, hosts=1, seed=4, latency_ms=20) as web:
        asyncio.run(main(web))
