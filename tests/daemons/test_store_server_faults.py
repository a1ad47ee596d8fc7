"""What goes wrong around a store server: strangers, slow peers, crashes, a full disk."""

import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from store_rig import (
    HTML,
    SITE,
    Spider,
    StoreServer,
    assert_sound,
    catalog_of,
    full,
    leased,
    links_to,
    many_urls,
    records,
    result,
    row_of,
    rows_of,
    wait_for_outcome,
    wait_until,
)

from gossamer.outcomes import Outcome, State


@pytest.fixture
def server(workspace: Path):
    with StoreServer(workspace, "--workers", "1") as server:
        yield server


# ----------------------------------------------------------------------------- strangers


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n",
        bytes(range(256)) * 40,
        b"\xff" * 4096,
        b"WORKING 17\nDONE 17\n" * 10,
        result(1, "http://site.example/\n", HTML),
        result(1, "http://a b/", HTML),
        result(1, SITE, HTML, success=2),
    ],
    ids=["http", "all bytes", "ones", "lines", "line end in URL", "space in URL", "success 2"],
)
def test_garbage_ends_the_link_and_nothing_else(server, workspace, garbage):
    (doc_id,) = leased(workspace, SITE)
    with Spider(server.port) as good, Spider(server.port) as bad:
        bad.send(garbage)
        assert bad.is_left()
        good.send(full(doc_id, SITE, HTML))
        good.wait_until_saved(1)
    assert "not a result" in server.log()
    server.terminate()


def test_good_results_before_garbage_are_saved(server, workspace):
    urls = many_urls(5)
    ids = leased(workspace, *urls)
    with Spider(server.port, wait_for_greeting=False) as spider:
        good = (result(doc_id, url, HTML) for doc_id, url in zip(ids, urls, strict=True))
        spider.send(*good, b"\xfe" * 100)
        assert spider.is_left()
    wait_until(lambda: row_of(workspace, urls[4]).state is State.DONE)
    assert {row.state for row in rows_of(workspace).values()} == {State.DONE}


def test_random_bytes_from_many_strangers_neither_crash_nor_fill_nor_stall(server, workspace):
    """Some of it looks like the beginning of a huge result; good Spiders go on meanwhile."""
    chance = random.Random(5)
    urls = many_urls(60)
    ids = leased(workspace, *urls)
    before = server.memory_bytes()
    stop = threading.Event()

    def pester() -> None:
        while not stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", server.port), timeout=5) as link:
                    beginning = result(chance.randrange(2**32), SITE, b"", success=0)[:20]
                    huge = beginning[:16] + b"\xff\xff\xff\xff" + SITE.encode()
                    link.sendall(chance.choice([huge, b""]) + chance.randbytes(200_000))
            except OSError:
                pass

    threads = [threading.Thread(target=pester) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        with Spider(server.port) as spider:
            for doc_id, url in zip(ids, urls, strict=True):
                spider.send(full(doc_id, url, links_to("/a")))
                time.sleep(0.02)
            spider.wait_until_saved(60)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert server.memory_bytes() - before < 100 << 20
    # However many there are, their number does not make the log long.
    assert len(server.log()) < 20_000
    server.terminate()
    assert_sound(workspace)


def test_a_flood_of_tiny_stale_results_starves_nobody(server, workspace):
    """Each costs its sender twenty bytes; they are dropped, counted, and others go on."""
    urls = many_urls(20)
    ids = leased(workspace, *urls)
    before = server.memory_bytes()
    flood = result(4_000_000_000) * 10_000
    stop = threading.Event()
    with Spider(server.port, wait_for_greeting=False) as stranger, Spider(server.port) as spider:
        stranger.socket.settimeout(60)

        def pour() -> None:
            sent = 0
            # It does not end before the others have had their turn, however long that takes.
            while sent < 5 or not stop.is_set():
                stranger.send(flood)
                sent += 1

        sender = threading.Thread(target=pour)
        sender.start()
        try:
            for number, (doc_id, url) in enumerate(zip(ids, urls, strict=True)):
                spider.send(full(doc_id, url, HTML))
                spider.wait_until_saved(number + 1)
        finally:
            stop.set()
            sender.join()
        assert server.memory_bytes() - before < 60 << 20
        tally = server.terminate()
    assert tally["results"] == tally["saved"] > 40_000


# --------------------------------------------------------------------- slow and silent peers


def test_a_slow_spider_holds_up_nobody_and_is_served(server, workspace):
    first, second = leased(workspace, SITE, SITE + "slow")
    with Spider(server.port) as slow, Spider(server.port) as quick:
        message = full(second, SITE + "slow", links_to("/from-slow"))
        slow.send(message[:30])
        time.sleep(0.1)
        quick.send(full(first, SITE, HTML))
        quick.wait_until_saved(1)
        for position in range(30, len(message), 40):
            slow.send(message[position : position + 40])
            time.sleep(0.02)
        slow.wait_until_saved(1)


def test_a_spider_that_stops_in_the_middle_is_left_in_time(workspace):
    with StoreServer(workspace, "--set", "store.silence_seconds=1") as server:
        (doc_id,) = leased(workspace, SITE)
        with Spider(server.port) as stuck, Spider(server.port) as idle:
            message = result(doc_id, SITE, HTML * 100)
            began = time.monotonic()
            stuck.send(message[:200])
            assert stuck.is_left()
            assert time.monotonic() - began > 0.9
            # One who has nothing to say may be silent for as long as he likes.
            idle.send(message)
            idle.wait_until_saved(1)
        assert "in the middle of a result" in server.log()


def test_results_that_are_never_finished_fill_no_memory(workspace):
    """Twenty Spiders begin results of ten MiB; the bound is four; each gets his turn."""
    flags = ("--set", "store.unsaved_bytes=4194304", "--workers", "1")
    urls = many_urls(20)
    with StoreServer(workspace, *flags) as server:
        ids = leased(workspace, *urls)
        before = server.memory_bytes()
        spiders = [Spider(server.port, wait_for_greeting=False) for _ in urls]
        peak = 0

        def deliver(number: int) -> None:
            # Not one after the other: each begins at once.
            message = result(ids[number], urls[number], HTML + b"y" * (10 << 20) * (number % 2))
            spiders[number].socket.settimeout(60)
            spiders[number].send(message)

        threads = [threading.Thread(target=deliver, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()

        def all_done() -> bool:
            nonlocal peak
            peak = max(peak, server.memory_bytes())
            return catalog.counts().leased == 0

        with catalog_of(workspace) as catalog:
            wait_until(all_done, seconds=60)
        for thread in threads:
            thread.join()
        for spider in spiders:
            spider.close()
        # Ten of ten MiB each would be more than a hundred.
        assert peak - before < 80 << 20
        server.terminate()
    assert {rows_of(workspace)[url].outcome for url in urls} == {
        Outcome.OK, Outcome.BODY_TOO_LARGE
    }  # fmt: skip


def test_a_spider_that_never_reads_blocks_nobody(workspace):
    """Thousands of SAVED lines are owed to it; only the last one would wait."""
    urls = many_urls(3_000)
    with StoreServer(workspace) as server:
        ids = leased(workspace, *urls)
        deaf = Spider(server.port)
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for doc_id, url in zip(ids, urls, strict=True):
            deaf.send(full(doc_id, url, b"short"))
        wait_until(lambda: row_of(workspace, urls[-1]).state is State.DONE, seconds=60)
        with catalog_of(workspace) as catalog:
            wait_until(lambda: catalog.counts().done == 3_000)
        # And when it listens at last, it hears where things stand.
        deaf.wait_until_saved(3_000)
        deaf.close()
        assert server.terminate()["saved"] == 3_000


def test_a_spider_that_closes_without_reading_loses_nothing(workspace):
    """It sends, closes and is gone, before anything was understood."""
    urls = many_urls(50)
    with StoreServer(workspace, "--workers", "1") as server:
        ids = leased(workspace, *urls)
        for doc_id, url in zip(ids, urls, strict=True):
            with Spider(server.port, wait_for_greeting=False) as spider:
                spider.send(result(doc_id, url, HTML + b"z" * 100_000))
        wait_until(lambda: all(row.state is State.DONE for row in rows_of(workspace).values()))


def test_too_much_that_is_not_saved_stops_the_reading(workspace, tmp_path):
    """A Spider is slowed down by its socket, and nothing is lost."""
    handler = tmp_path / "slow.py"
    handler.write_text("import time\ndef slow(page):\n    time.sleep(0.02)\n")
    flags = ("--workers", "1", "--set", "store.unsaved_bytes=1000000", "--set",
             f'handlers.use=["{handler}:slow"]')  # fmt: skip
    urls = many_urls(100)
    with StoreServer(workspace, *flags) as server:
        ids = leased(workspace, *urls)
        with Spider(server.port) as spider:
            before = server.memory_bytes()
            spider.socket.settimeout(60)
            # Each of its own, or it would be archived but once.
            messages = [
                full(doc_id, url, HTML + os.urandom(200_000))
                for doc_id, url in zip(ids, urls, strict=True)
            ]
            sender = threading.Thread(target=spider.send, args=messages)
            sender.start()
            peak = 0
            while spider.saved < 100:
                assert spider.hear(5.0)
                peak = max(peak, server.memory_bytes())
            sender.join()
        assert peak - before < 12 << 20
        server.terminate()
    assert_sound(workspace)


# --------------------------------------------------------------------------------- crashes


class Resender:
    """A Spider with a memory: what is not SAVED is sent again, over as many links as it takes."""

    def __init__(self, messages: list[bytes]) -> None:
        self._messages = messages
        self.delivered = 0

    def deliver(self, port: int, *, until: float | None = None) -> None:
        """Deliver all that is left, or until a moment."""
        base = self.delivered
        waiting = self._messages[base:]
        try:
            with Spider(port) as spider:
                position = 0
                while self.delivered < len(self._messages):
                    if until is not None and time.monotonic() > until:
                        return
                    if position < len(waiting) and position - spider.saved < 200:
                        spider.send(*waiting[position : position + 5])
                        position += 5
                        alive = spider.hear(0.0)
                    else:
                        alive = spider.hear(0.05)
                    self.delivered = base + spider.saved
                    if not alive:
                        return
        except OSError:
            return


def pages(workspace: Path, count: int) -> tuple[list[str], list[bytes]]:
    """Lease URLs; return what will be fetched, and the results: both forms, links, redirects."""
    urls = list(many_urls(count))
    ids = leased(workspace, *urls)
    fetched, messages = [], []
    for number, (doc_id, ordered) in enumerate(zip(ids, urls, strict=True)):
        url = ordered
        if number % 7 == 0:
            url = ordered + "/moved"
            fetched.append(ordered)
            messages.append(full(doc_id, ordered, b"see there", status=301, redirect_to=url))
        body = links_to(f"/found/{number}", f"/found/{number + 1}") + b"%d" % number
        fetched.append(url)
        messages.append((full if number % 3 else result)(doc_id, url, body))
    return fetched, messages


def assert_everything_once(workspace: Path, fetched: list[str]) -> None:
    """Every result is in the catalog, and none of them twice."""
    rows = rows_of(workspace)
    assert {rows[url].state for url in fetched} == {State.DONE}
    found = {url: row for url, row in rows.items() if url not in set(fetched)}
    pages = sum(row.fetch.status == 200 for url, row in rows.items() if url not in found)
    assert set(found) == {f"{SITE}found/{number}" for number in range(pages + 1)}
    assert {row.state for row in found.values()} == {State.PENDING}
    with catalog_of(workspace) as catalog:
        assert catalog.counts().fetches == len(fetched)
        tries = Counter(len(catalog.history(rows[url].doc_id)) for url in fetched)
        assert tries == {1: len(fetched)}
        assert catalog.check() == []
    assert all(rows[url].fetch.pointer for url in fetched)
    kinds = ("response", "resource", "revisit")
    assert set(fetched) <= {uri for kind, uri, *_ in records(workspace) if kind in kinds}


@pytest.mark.slow
def test_kills_of_the_store_server_lose_nothing_and_save_nothing_twice(workspace):
    """kill -9 of all its processes, again and again, in the middle of the work."""
    chance = random.Random(3)
    with StoreServer(workspace) as server:
        urls, messages = pages(workspace, 3_000)
        server.kill()
    spider = Resender(messages)
    kills = 0
    while spider.delivered < len(messages) and kills < 25:
        with StoreServer(workspace) as server:
            spider.deliver(server.port, until=time.monotonic() + chance.uniform(0.05, 0.2))
            server.kill()
            kills += 1
    assert kills >= 5
    with StoreServer(workspace) as server:
        spider.deliver(server.port)
        server.terminate()
    assert spider.delivered == len(messages)
    assert_everything_once(workspace, urls)
    assert_sound(workspace)


@pytest.mark.slow
def test_kills_of_workers_cost_nothing(workspace):
    """Their work is done by others; the Spider does not even notice."""
    chance = random.Random(4)
    with StoreServer(workspace) as server:
        urls, messages = pages(workspace, 3_000)
        spider = Resender(messages)
        delivery = threading.Thread(target=spider.deliver, args=(server.port,))
        delivery.start()
        kills = 0
        while delivery.is_alive():
            workers = server.workers()
            if workers:
                try:
                    os.kill(chance.choice(workers), signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    pass
            time.sleep(0.3)
        delivery.join()
        assert spider.delivered == len(messages)
        assert kills >= 2
        tally = server.terminate()
    assert tally["saved"] == len(messages)
    with StoreServer(workspace, "--workers", "0") as repairing:
        repairing.terminate()
    assert_everything_once(workspace, urls)
    assert_sound(workspace)


def test_a_document_over_which_two_workers_die_is_set_aside(workspace, tmp_path):
    handler = tmp_path / "poison.py"
    handler.write_text(
        "import os, signal\n"
        "def poison(page):\n"
        "    if page.url.endswith('/poison'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    urls = [SITE + "poison", *many_urls(20)]
    flags = ("--set", f'handlers.use=["{handler}:poison"]')
    with StoreServer(workspace, *flags) as server:
        ids = leased(workspace, *urls)
        with Spider(server.port) as spider:
            spider.send(*(full(doc_id, url, HTML) for doc_id, url in zip(ids, urls, strict=True)))
            spider.wait_until_saved(21)
        server.terminate()
    rows = rows_of(workspace)
    assert rows[urls[0]].outcome is Outcome.PARSE_BUDGET
    assert {rows[url].outcome for url in urls[1:]} == {Outcome.OK}


def test_a_document_that_takes_for_ever_is_ended(workspace, tmp_path):
    handler = tmp_path / "endless.py"
    handler.write_text(
        "def endless(page):\n    while page.url.endswith('/endless'):\n        pass\n"
    )
    flags = ("--workers", "1", "--set", "parse.cpu_seconds=1", "--set",
             f'handlers.use=["{handler}:endless"]')  # fmt: skip
    with StoreServer(workspace, *flags) as server:
        first, second = leased(workspace, SITE + "endless", SITE)
        with Spider(server.port) as spider:
            spider.send(full(first, SITE + "endless", HTML), full(second, SITE, HTML))
            spider.wait_until_saved(2)
    assert row_of(workspace, SITE + "endless").outcome is Outcome.PARSE_BUDGET
    assert row_of(workspace, SITE).outcome is Outcome.OK


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root and mount")
def test_a_full_disk_loses_nothing_and_saving_goes_on_by_itself(tmp_path):
    """Nothing is acknowledged that is not durable; with room again everything is."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=True)
    try:
        workspace = disk / "w"
        log = ("--set", "store.reserve_bytes=0")
        with StoreServer(workspace, *log) as server:
            urls = many_urls(60)
            ids = leased(workspace, *urls)
            messages = [
                full(doc_id, url, HTML + os.urandom(60_000))
                for doc_id, url in zip(ids, urls, strict=True)
            ]
            with Spider(server.port) as spider:
                spider.socket.settimeout(60)
                sender = threading.Thread(target=spider.send, args=messages)
                sender.start()
                wait_until(lambda: "no space" in server.log() or "free on the disk" in server.log())
                while spider.hear(0.5) and spider.saved < 60 and time.monotonic() % 3 > 0.5:
                    pass
                assert spider.saved < 60
                assert server.is_running()
                subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
                spider.wait_until_saved(60)
                sender.join()
            assert "saving goes on" in server.log()
            assert server.terminate()["saved"] == 60
        rows = rows_of(workspace)
        assert {rows[url].state for url in urls} == {State.DONE}
        with catalog_of(workspace) as catalog:
            assert catalog.counts().fetches == 60
        assert_sound(workspace)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


# --------------------------------------------------------------------------------- the end


def test_sigterm_saves_what_was_received_says_so_and_ends_with_zero(workspace):
    urls = many_urls(400)
    with StoreServer(workspace) as server:
        ids = leased(workspace, *urls)
        with Spider(server.port) as spider:
            spider.send(
                *(full(doc_id, url, HTML) for doc_id, url in zip(ids, urls, strict=True)),
                # Half a result: not received, not saved, sent again to whoever comes next.
                full(1, SITE, HTML)[:50],
            )
            tally = server.terminate()
            while spider.hear(1.0):
                pass
            assert spider.saved == tally["saved"] == tally["results"]
            with pytest.raises(OSError):
                Spider(server.port, wait_for_greeting=False)
    rows = rows_of(workspace)
    done = [url for url in urls if rows[url].state is State.DONE]
    assert len(done) == tally["saved"] > 0
    assert_sound(workspace)


def test_sigterm_reads_what_has_arrived_on_this_machine(workspace, tmp_path):
    """A Spider without acknowledgements takes for delivered what our machine has taken."""
    handler = tmp_path / "slow.py"
    handler.write_text("import time\ndef slow(page):\n    time.sleep(0.2)\n")
    flags = ("--workers", "1", "--set", "crawl.concurrency=1", "--set",
             f'handlers.use=["{handler}:slow"]')  # fmt: skip
    urls = many_urls(12)
    with StoreServer(workspace, *flags) as server:
        ids = leased(workspace, *urls)
        messages = [result(doc_id, url, HTML) for doc_id, url in zip(ids, urls, strict=True)]
        with (
            Spider(server.port, wait_for_greeting=False) as first,
            Spider(server.port, wait_for_greeting=False) as second,
        ):
            # Four may be unsaved; while these are, nobody is read, and the kernel keeps the rest.
            first.send(*messages[:8])
            time.sleep(0.1)
            second.send(*messages[8:])
            wait_until(lambda: unacknowledged_bytes(second.socket) == 0)
            assert server.terminate()["saved"] == 12
    assert {row.state for row in rows_of(workspace).values()} == {State.DONE}


def unacknowledged_bytes(link: socket.socket) -> int:
    """Return how much the other machine has not acknowledged yet (SIOCOUTQ)."""
    return int.from_bytes(fcntl.ioctl(link, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def test_a_signal_to_the_whole_group_is_as_good(workspace):
    """As a service manager sends it."""
    urls = many_urls(100)
    with StoreServer(workspace) as server:
        ids = leased(workspace, *urls)
        with Spider(server.port) as spider:
            spider.send(*(full(doc_id, url, HTML) for doc_id, url in zip(ids, urls, strict=True)))
            spider.wait_until_saved(1)
            for worker in server.workers():
                os.kill(worker, signal.SIGTERM)
            tally = server.terminate()
        assert tally["saved"] == tally["results"] > 0
        assert "a worker has ended" not in server.log()
    assert_sound(workspace)


def test_a_second_sigterm_ends_it_at_once(workspace, tmp_path):
    handler, begun = tmp_path / "slow.py", tmp_path / "begun"
    handler.write_text(
        f"import pathlib, time\ndef slow(page):\n    pathlib.Path({str(begun)!r}).touch()\n"
        "    time.sleep(60)\n"
    )
    flags = ("--workers", "1", "--set", f'handlers.use=["{handler}:slow"]')
    with StoreServer(workspace, *flags) as server:
        (doc_id,) = leased(workspace, SITE)
        with Spider(server.port) as spider:
            spider.send(full(doc_id, SITE, HTML))
            wait_until(begun.exists)
            os.kill(server.pid, signal.SIGTERM)
            time.sleep(0.5)
            assert server.is_running()
            # On a busy machine the first may not have been heard yet; then these two are one.
            os.kill(server.pid, signal.SIGTERM)
            time.sleep(0.5)
            assert server.terminate(timeout=10)["unsaved"] == 1
    assert row_of(workspace, SITE).state is State.LEASED


def test_it_goes_on_where_it_was_stopped(workspace):
    with StoreServer(workspace) as server:
        first, second = leased(workspace, SITE, SITE + "2")
        with Spider(server.port) as spider:
            spider.send(full(first, SITE, links_to("/a")))
            spider.wait_until_saved(1)
        server.terminate()
    with StoreServer(workspace) as server:
        with Spider(server.port) as spider:
            spider.send(full(second, SITE + "2", links_to("/b")))
            spider.wait_until_saved(1)
        server.terminate()
    wait_for_outcome(workspace, SITE + "2")
    assert {SITE + "a", SITE + "b"} <= set(rows_of(workspace))
    assert_sound(workspace)
