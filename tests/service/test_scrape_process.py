"""Scraping in a process of its own: what a page can do to it, and what comes of that."""

import array
import fcntl
import os
import resource
import signal
import socket
import termios
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from processing_rig import PAGE
from service_rig import PATIENCE_SECONDS

from gossamer.parse.scraper_records import Scraped
from gossamer.service.scrape_process import Failed, Page, ScrapeProcess, scraped


def page(body: bytes = PAGE, **properties: str) -> Page:
    return Page(body, "text/html", "utf-8", "http://a.example/a", properties)


def test_a_page_is_scraped_as_it_would_be_here() -> None:
    with ScrapeProcess(kill_seconds=PATIENCE_SECONDS) as process:
        assert process.process_id is None, "it is started when there is work"
        result = process.scrape(page())
        assert isinstance(result, Scraped)
        assert result.contents == scraped(page()).contents
        first = process.process_id
        process.scrape(page(PAGE * 2_000))
        assert process.process_id == first
        assert process.starts == 1


def test_many_open_files_do_not_hinder_it() -> None:
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (usual, most))
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, most), most))
        while stack.enter_context(Path(os.devnull).open()).fileno() < 1_100:
            pass
        with ScrapeProcess(kill_seconds=PATIENCE_SECONDS) as process:
            assert isinstance(process.scrape(page()), Scraped)


def test_a_process_that_takes_too_long_is_ended_and_replaced() -> None:
    with ScrapeProcess(kill_seconds=PATIENCE_SECONDS) as process:
        process.scrape(page(b"<p>short"))
        stopped = process.process_id
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
        usual, process.kill_seconds = process.kill_seconds, 0.3
        result = process.scrape(page())
        assert result == Failed("scraping took longer than 0.3 s", is_overdue=True)
        assert not _lives(stopped)
        process.kill_seconds = usual
        assert isinstance(process.scrape(page()), Scraped)
        assert process.starts == 2


def test_a_process_that_dies_costs_one_page() -> None:
    with ScrapeProcess(kill_seconds=PATIENCE_SECONDS) as process:
        process.scrape(page(b"<p>short"))
        doomed = process.process_id
        assert doomed is not None
        os.kill(doomed, signal.SIGSTOP)
        assert process._launched is not None
        killer = threading.Thread(target=_kill_with_work, args=(doomed, process._launched.end))
        killer.start()
        result = process.scrape(page())
        killer.join()
        assert result == Failed("scraping ended its process with code -9")
        assert isinstance(process.scrape(page()), Scraped)
        assert process.starts == 2


def test_nothing_is_left_of_it_at_the_end() -> None:
    with ScrapeProcess(kill_seconds=PATIENCE_SECONDS) as process:
        process.scrape(page())
        number = process.process_id
    assert number is not None
    assert not _lives(number)


def _kill_with_work(doomed: int, end: socket.socket) -> None:
    """Kill a process when it has been sent something that it has not read."""
    unread = array.array("i", [0])
    while not unread[0]:
        time.sleep(0.01)
        fcntl.ioctl(end, termios.TIOCOUTQ, unread)
    os.kill(doomed, signal.SIGKILL)


def _lives(number: int) -> bool:
    for _ in range(1_000):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True
