"""The real command against the fake web: completeness, limits, stops, resumption."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from harness import RunGossamer, command, crawl, pages_in, read_jsonl
from warcio.archiveiterator import ArchiveIterator

from gossamer.fakeweb import judge
from gossamer.fakeweb.log import GONE
from gossamer.fakeweb.process import FakeWeb
from press import press
from self_stopping import signal_at

FAST = ("--delay", "0", "--per-host", "8", "--quiet")


def counts(gossamer: RunGossamer, workspace: Path) -> dict[str, int]:
    status = json.loads(gossamer("status", "--dir", workspace, "--json").stdout)
    numbers: dict[str, int] = status["counts"]
    return numbers


def test_a_crawl_whose_only_host_is_held_for_long_ends_however_much_it_has_left(
    gossamer: RunGossamer, tmp_path: Path
):
    """More is due than a queue holds; to ask for it again and again would take the whole hour."""
    with press() as site:
        links = "".join(f'<a href="/{number}">x</a>' for number in range(50))
        site.routes["/"] = (200, {"Content-Type": "text/html"}, links.encode())
        busy = (429, {"Retry-After": "3600"}, b"")
        site.routes.update({f"/{number}": busy for number in range(50)})
        small = ("--set", "urlserver.Queue_Len=10", "--per-host", "1", "--quiet")
        result = gossamer(
            "crawl", site.url("/"), "--dir", "w", "--delay", "0", *small, timeout=60, check=5
        )
    assert re.search(r"must wait for (1 h|59 min)", result.stderr)
    assert counts(gossamer, tmp_path / "w")["pending"] == 50


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.req("S1.1", "S1.3", "S1.7", "S0.1")
def test_every_allowed_page_is_fetched_once_and_no_other(tmp_path: Path, workers: str):
    with FakeWeb(pages=200, hosts=4, seed=5) as web:
        crawl(web, tmp_path / "w", *FAST, "--workers", workers)
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    assert judge.unexpected(log, truth) == []
    assert judge.disallowed_requests(log, truth) == []
    assert judge.nofollow_requests(log, truth) == []
    assert judge.refetches(log) == {}
    assert judge.pages_before_robots(log) == []


def test_a_finished_workspace_has_nothing_left_to_do(tmp_path: Path, gossamer: RunGossamer):
    with FakeWeb(pages=30, hosts=2, seed=5) as web:
        crawl(web, tmp_path / "w", *FAST)
        before = len(web.log().requests)
        crawl(web, tmp_path / "w", *FAST)
        assert len(web.log().requests) == before
    numbers = counts(gossamer, tmp_path / "w")
    assert numbers["pending"] == numbers["leased"] == 0
    assert numbers["discovered"] == sum(
        numbers[name] for name in ("done", "pending", "leased", "excluded", "failed")
    )


@pytest.mark.parametrize("workers", ["0", "3"])
def test_max_pages_is_exact_and_a_larger_number_goes_on(
    tmp_path: Path, gossamer: RunGossamer, workers: str
):
    with FakeWeb(pages=120, hosts=3, seed=9, redirects=10, gone=10) as web:
        workspace = tmp_path / "w"
        for limit in (1, 17, 60):
            crawl(web, workspace, *FAST, "--workers", workers, "--max-pages", str(limit))
            rows = read_jsonl(gossamer("export", "--dir", workspace, "--format", "jsonl").stdout)
            pages = [row for row in rows if row["state"] == "done" and row["status"] == 200]
            assert len(pages) == limit
        assert judge.refetches(web.log()) == {}


def signal_midway(web: FakeWeb, folder: Path, number: signal.Signals) -> tuple[str, ...]:
    """Return the flags of a crawl that gets a signal after its first pages."""
    return signal_at(folder, web.truth()["pages"][4 * len(web.start_urls)], number)


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(tmp_path: Path):
    with FakeWeb(pages=150, hosts=3, seed=4, latency_ms=20) as web:
        flags = (*FAST, "--concurrency", "4", *signal_midway(web, tmp_path, signal.SIGINT))
        argv = command(web, tmp_path / "w", *flags)
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert ended.returncode == 130
        assert "run the same command again" in ended.stderr
        crawl(web, tmp_path / "w", *flags)
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    assert judge.refetches(log) == {}


@pytest.mark.req("S1.4")
def test_sigterm_ends_in_good_order_and_nothing_is_fetched_again(tmp_path: Path):
    with FakeWeb(pages=150, hosts=3, seed=4, latency_ms=20) as web:
        flags = (*FAST, *signal_midway(web, tmp_path, signal.SIGTERM))
        argv = command(web, tmp_path / "w", *flags)
        ended = subprocess.run(argv, stderr=subprocess.DEVNULL, timeout=120, check=False)
        assert ended.returncode == 143
        crawl(web, tmp_path / "w", *flags)
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    assert judge.refetches(log) == {}


@pytest.mark.req("S1.4")
def test_sigterm_does_not_wait_for_an_answer_that_never_comes(tmp_path: Path):
    """The spider would wait for ten minutes; whoever ends a crawl must not."""
    with FakeWeb(pages=3, hosts=1, seed=4) as web:
        patient = [
            *("--set", "spider.timeout_first_byte_ms=600000"),
            *("--set", "spider.timeout_request_ms=600000"),
        ]
        argv = command(web, tmp_path / "w", *FAST, *patient)
        argv[argv.index(web.start_url)] = url = web.oddities + "hang"
        process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        while url not in pages_in(web.log()):
            assert process.poll() is None
            time.sleep(0.01)
        process.terminate()
        assert process.wait(timeout=120) == 143
        while (request := web.log().requests[-1]).end_ns is None:
            time.sleep(0.01)
    assert (request.url, request.how) == (url, GONE)


def test_a_workspace_in_use_is_refused_and_the_first_crawl_goes_on(tmp_path: Path):
    with FakeWeb(pages=60, hosts=1, seed=4) as web:
        # It must not be over before the second one looks, however long that takes to start.
        flags = (*FAST, *signal_midway(web, tmp_path, signal.SIGSTOP))
        argv = command(web, tmp_path / "w", *flags)
        with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as first:
            os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            try:
                second = subprocess.run(
                    argv, capture_output=True, text=True, timeout=120, check=False
                )
            finally:
                first.send_signal(signal.SIGCONT)
            assert second.returncode == 3
            assert f"in use by process {first.pid}" in second.stderr
            assert second.stderr.count("\n") == 1
            assert first.wait(timeout=120) == 0
        assert judge.missing(web.log(), web.truth()) == set()


def test_add_puts_urls_in_without_fetching(tmp_path: Path, gossamer: RunGossamer):
    with FakeWeb(pages=10, hosts=1, seed=1) as web:
        gossamer("add", web.start_url, "--dir", tmp_path / "w")
        assert counts(gossamer, tmp_path / "w")["pending"] == 1
        assert web.log().requests == []
        gossamer("crawl", "--dir", tmp_path / "w", "--allow-private", *FAST)
        assert judge.missing(web.log(), web.truth()) == set()


def test_nothing_to_crawl_says_what_to_do(tmp_path: Path, gossamer: RunGossamer):
    result = gossamer("crawl", "--dir", tmp_path / "w", check=2)
    assert "gossamer crawl URL" in result.stderr


def test_depth_is_limited(tmp_path: Path, gossamer: RunGossamer):
    with FakeWeb(pages=100, hosts=1, seed=3) as web:
        crawl(web, tmp_path / "w", *FAST, "--max-depth", "2")
        rows = read_jsonl(gossamer("export", "--dir", tmp_path / "w", "--format", "jsonl").stdout)
    fetched = [row for row in rows if row["state"] == "done"]
    assert max(int(str(row["depth"])) for row in fetched) == 2
    assert {row["outcome"] for row in rows if int(str(row["depth"])) > 2} <= {
        "policy.budget",
        "policy.scope",
    }


def test_the_scope_of_a_host_is_not_left(tmp_path: Path):
    with FakeWeb(pages=100, hosts=4, seed=3) as web:
        argv = command(web, tmp_path / "w", *FAST)
        argv = [part for part in argv if part not in web.start_urls[1:]]
        argv[argv.index("any")] = "host"
        assert subprocess.run(argv, timeout=60, check=False).returncode == 0
        assert {request.host for request in web.log().requests} == {
            web.start_url.removeprefix("http://").rstrip("/")
        }


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root and mount")
def test_a_full_disk_pauses_and_the_same_command_goes_on(tmp_path: Path):
    """S01/S02: nothing is lost, the exit code is 4, and with room again the crawl finishes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        with FakeWeb(pages=300, hosts=4, seed=8, page_bytes=9000) as web:
            small = ("--set", "store.reserve_bytes=0", "--set", "crawl.patience_seconds=1")
            argv = command(web, disk / "w", *FAST, *small)
            result = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False)
            assert result.returncode == 4, (result.returncode, result.stderr)
            assert "run the same command again" in result.stderr
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            crawl(web, disk / "w", *FAST, *small)
            log, truth = web.log(), web.truth()
        assert judge.missing(log, truth) == set()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root and mount")
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_disk_without_inodes_ends_the_crawl_when_patience_does(tmp_path: Path, workers: str):
    """S04: it has space, so that trying again looks promising; the site must not pay for it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    # One is the root, the workspace needs the rest: there is none for a file of the archive.
    inodes = "size=64m,nr_inodes=12"
    subprocess.run(["mount", "-t", "tmpfs", "-o", inodes, "tmpfs", str(disk)], check=True)
    try:
        with FakeWeb(pages=30, hosts=1, seed=8) as web:
            small = ("--set", "store.reserve_bytes=0", "--set", "crawl.patience_seconds=3")
            argv = command(web, disk / "w", *FAST, *small, "--workers", workers)
            result = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
            assert result.returncode == 4, (result.returncode, result.stderr)
            assert "no space is left" in result.stderr
            assert max(pages_in(web.log()).values()) <= 3
            subprocess.run(["mount", "-o", "remount,nr_inodes=1000", str(disk)], check=True)
            crawl(web, disk / "w", *FAST, *small, "--workers", workers)
            log, truth = web.log(), web.truth()
        assert judge.missing(log, truth) == set()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_recrawl_asks_conditionally_and_counts_nothing_twice(
    tmp_path: Path, gossamer: RunGossamer
):
    with FakeWeb(pages=5, hosts=1, seed=8) as web:
        recrawl = (
            "--set",
            "catalog.recrawl_first_seconds=1",
            "--set",
            "catalog.recrawl_min_seconds=1",
        )
        url = web.oddities + "etag"
        base = ("crawl", url, "--dir", tmp_path / "w", "--allow-private", *FAST, *recrawl)
        gossamer(*base, "--max-depth", "0")
        time.sleep(1.1)
        gossamer(*base, "--max-depth", "0", "--recrawl")
        statuses = [request.status for request in web.log().requests if request.url == url]
        history = json.loads(gossamer("show", "--dir", tmp_path / "w", url, "--json").stdout)
    assert statuses == [200, 304]
    assert [fetch["outcome"] for fetch in history["history"]] == ["not_modified", "ok"]
    assert counts(gossamer, tmp_path / "w")["done"] == 1


def test_a_redirect_chain_is_followed_hop_by_hop_and_ends(tmp_path: Path, gossamer: RunGossamer):
    with FakeWeb(pages=5, hosts=1, seed=8) as web:
        url = web.oddities + "redirect-chain/21"
        gossamer(
            "crawl", url, "--dir", tmp_path / "w", "--allow-private", *FAST, "--max-depth", "0"
        )
        rows = read_jsonl(gossamer("export", "--dir", tmp_path / "w", "--format", "jsonl").stdout)
        asked = [url for url in pages_in(web.log()) if "redirect-chain" in url]
    assert len(asked) == 11
    assert [row["outcome"] for row in rows].count("redir.too_many") == 1


def test_a_redirect_into_a_private_network_is_never_followed(tmp_path: Path, gossamer: RunGossamer):
    """The address policy holds for redirects although the start URL itself is on loopback."""
    with FakeWeb(pages=5, hosts=1, seed=8) as web:
        url = web.oddities + "private-redirect"
        gossamer("crawl", url, "--dir", tmp_path / "w", *FAST, "--scope", "any", "--max-depth", "1")
        rows = read_jsonl(gossamer("export", "--dir", tmp_path / "w", "--format", "jsonl").stdout)
    private = [row for row in rows if "127.0.0.1" not in str(row["url"])]
    assert private
    assert {row["outcome"] for row in private} == {"policy.private_address"}
    assert {row["state"] for row in private} == {"excluded"}


def test_name_servers_that_never_answer_end_in_one_message(tmp_path: Path, gossamer: RunGossamer):
    """An unreachable DNS: exit code 5, what was tried, what to do; the URL is still there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        result = gossamer(
            "crawl", "http://site.example/", "--dir", tmp_path / "w", "--quiet",
            "--set", f'urlserver.dns_servers=["{server}"]',
            "--set", "urlserver.dns_timeout_seconds=0.5", "--set", "crawl.patience_seconds=2",
            check=5,
        )  # fmt: skip
    assert "no name server has answered" in result.stderr
    assert "dns_servers" in result.stderr
    assert counts(gossamer, tmp_path / "w")["pending"] == 1


def test_a_wider_scope_lets_in_what_a_narrower_one_kept_out(tmp_path: Path):
    with FakeWeb(pages=60, hosts=3, seed=3) as web:
        argv = [
            part for part in command(web, tmp_path / "w", *FAST) if part not in web.start_urls[1:]
        ]
        narrow = [*argv]
        narrow[narrow.index("any")] = "host"
        assert subprocess.run(narrow, timeout=60, check=False).returncode == 0
        assert judge.missing(web.log(), web.truth()) != set()
        assert subprocess.run(argv, timeout=60, check=False).returncode == 0
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    assert judge.refetches(log) == {}


def test_the_settings_of_the_last_run_are_kept_as_a_file_that_can_be_used(
    tmp_path: Path, gossamer: RunGossamer
):
    with FakeWeb(pages=5, hosts=1, seed=3) as web:
        crawl(web, tmp_path / "w", *FAST, "--set", "spider.max_redirects=7")
    shown = gossamer("config", "--config", tmp_path / "w" / "gossamer.toml", "--json").stdout
    assert '"max_redirects"' in shown
    assert "max_redirects = 7" in (tmp_path / "w" / "gossamer.toml").read_text()


def test_a_payload_fetched_under_two_urls_is_stored_once(tmp_path: Path):
    with FakeWeb(pages=40, hosts=1, seed=3, duplicates=6) as web:
        crawl(web, tmp_path / "w", *FAST, "--workers", "2")
    kinds: list[str] = []
    for path in (tmp_path / "w" / "archive").glob("*.warc.gz"):
        with path.open("rb") as stream:
            kinds += [record.rec_type for record in ArchiveIterator(stream)]
    assert kinds.count("revisit") >= 5


def test_what_handlers_made_is_exported(tmp_path: Path, gossamer: RunGossamer):
    (tmp_path / "mine.py").write_text(
        "def count(page):\n    yield {'links': len(page.links), 'title': page.title}\n"
    )
    with FakeWeb(pages=8, hosts=1, seed=3) as web:
        use = f'handlers.use=["{tmp_path / "mine.py"}:count"]'
        crawl(web, tmp_path / "w", *FAST, "--set", use)
        pages = len(web.truth()["pages"])
    lines = read_jsonl(gossamer("export", "--dir", tmp_path / "w", "--format", "records").stdout)
    assert len(lines) >= pages
    assert all(isinstance(line["record"], dict) and line["record"]["title"] for line in lines)


def test_lifting_the_address_policy_brings_back_what_it_kept_out(tmp_path: Path):
    with FakeWeb(pages=40, hosts=3, seed=3) as web:
        others = web.start_urls[1:]
        lifted = [part for part in command(web, tmp_path / "w", *FAST) if part not in others]
        strict = [part for part in lifted if part != "--allow-private"]
        assert subprocess.run(strict, timeout=60, check=False).returncode == 0
        assert {request.address for request in web.log().requests} == {"127.16.0.1"}
        assert subprocess.run(lifted, timeout=60, check=False).returncode == 0
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    assert judge.refetches(log) == {}


def test_a_handler_that_cannot_be_loaded_ends_the_crawl_before_it_begins(
    tmp_path: Path, gossamer: RunGossamer
):
    """Each worker would die of it, and so would its successor."""
    use = 'handlers.use=["nowhere:nothing"]'
    result = gossamer("crawl", "http://127.0.0.1/", "--dir", tmp_path, "--set", use, check=None)
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "gossamer: cannot load handler \"nowhere:nothing\": No module named 'nowhere'"
    ]
