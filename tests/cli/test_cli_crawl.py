"""The command a person types, end to end against the fake web."""

import json
import resource
import signal
import subprocess
import sys
import time
from bisect import bisect_left

import pytest

from gossamer.fakeweb.process import FakeWeb
from self_stopping import signal_at

GOSSAMER = [sys.executable, "-m", "gossamer.cli"]
QUICK = ["--delay", "0", "--per-host", "8", "--scope", "any", "--allow-private"]


@pytest.fixture(scope="module")
def web():
    with FakeWeb(pages=60, hosts=3, seed=5, max_seconds=300) as fake:
        yield fake


def gossamer(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GOSSAMER, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def counts(folder) -> dict[str, int]:
    return json.loads(gossamer("status", "--dir", folder, "--json").stdout)["counts"]


def test_a_crawl_ends_with_a_summary_and_every_page_is_there(web, tmp_path):
    folder = tmp_path / "w"
    done = gossamer("crawl", web.start_url, "--dir", folder, *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["reason"], summary["exit_code"]) == ("finished", 0)
    numbers = counts(folder)
    assert numbers["pending"] == numbers["leased"] == 0
    assert numbers["discovered"] == sum(numbers.values()) - numbers["discovered"]
    records = gossamer("export", "--dir", folder).stdout.splitlines()
    assert len(records) == numbers["discovered"]
    healthy = gossamer("doctor", "--offline", "--dir", folder)
    assert healthy.returncode == 0, healthy.stdout


def test_max_pages_is_exact_and_a_larger_number_goes_on(web, tmp_path):
    folder = tmp_path / "w"
    for limit in (7, 7, 12):
        done = gossamer(
            *("crawl", web.start_url, "--dir", folder, *QUICK, "--json"), "--max-pages", limit
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reason"] == "max_pages"
        assert json.loads(gossamer("status", "--dir", folder, "--json").stdout)["pages"] == limit


def test_the_summary_for_people_says_how_to_go_on(web, tmp_path):
    folder = tmp_path / "w"
    done = gossamer("crawl", web.start_url, "--dir", folder, *QUICK, "--max-pages", 3)
    assert done.returncode == 0
    assert "larger number to go on" in done.stdout
    assert f"gossamer status --dir {folder}" in done.stdout
    quiet = gossamer("crawl", "--dir", folder, *QUICK, "--max-pages", 4, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_added_urls_are_crawled_without_naming_them_again(web, tmp_path):
    folder = tmp_path / "w"
    listed = tmp_path / "urls.txt"
    listed.write_text(f"# start\n{web.start_url}\n\n{web.start_url}\n")
    added = gossamer("add", "--file", listed, "--dir", folder, "--json")
    assert json.loads(added.stdout) == {"given": 2, "new": 1}
    again = gossamer("add", "--file", "-", "--dir", folder, "--json", input=listed.read_text())
    assert json.loads(again.stdout) == {"given": 2, "new": 0}
    assert counts(folder)["pending"] == 1
    done = gossamer("crawl", "--dir", folder, *QUICK, "--max-pages", 5, "--json")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_in_good_order_and_the_same_command_goes_on(tmp_path, number, code):
    with FakeWeb(pages=80, hosts=2, seed=6, latency_ms=30, max_seconds=300) as web:
        folder = tmp_path / "w"
        stopping = signal_at(tmp_path, web.truth()["pages"][8], number)
        words = ["crawl", web.start_url, "--dir", str(folder), *QUICK, *stopping, "--json"]
        stopped = gossamer(*words)
        assert stopped.returncode == code, stopped.stderr
        assert "run the same command again" in stopped.stderr
        assert counts(folder)["leased"] == 0
        assert gossamer(*words).returncode == 0
        assert counts(folder)["pending"] == 0


def test_a_workspace_in_use_is_refused(tmp_path):
    with FakeWeb(pages=80, hosts=1, seed=6, max_seconds=300) as web:
        folder = tmp_path / "w"
        # So slow that it cannot be over before the others have looked.
        words = ["crawl", web.start_url, "--dir", str(folder), *QUICK, "--delay", "10"]
        first = subprocess.Popen(
            [*GOSSAMER, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not web.log().requests:
                assert first.poll() is None
                time.sleep(0.05)
            second = gossamer(*words)
            assert second.returncode == 3
            assert second.stderr.count("\n") == 1
            assert "in use by process" in second.stderr
            assert gossamer("status", "--dir", folder).returncode == 0
        finally:
            first.terminate()
            first.wait(120)


@pytest.mark.parametrize(
    "words",
    [
        ("crawl", "{url}", "--dir", "{folder}"),
        ("crawl", "--dir", "{folder}"),
        ("add", "{url}", "--dir", "{folder}"),
        ("site", "{url}", "--keep", "{folder}"),
        ("site", "--resume", "{folder}"),
        ("status", "--dir", "{folder}"),
    ],
)
def test_a_workspace_that_lost_its_catalog_is_not_begun_anew(web, tmp_path, words):
    """Its archive would hold two crawls, and the second would know nothing of the first."""
    folder = tmp_path / "w"
    done = gossamer("crawl", web.start_url, "--dir", folder, *QUICK, "--max-pages", 2)
    assert done.returncode == 0, done.stderr
    for part in folder.glob("catalog.db*"):
        part.unlink()
    seen = len(web.log().requests)
    refused = gossamer(*(word.format(url=web.start_url, folder=folder) for word in words))
    assert refused.returncode == 3
    assert refused.stderr.count("\n") == 1
    assert "catalog.db is missing" in refused.stderr
    assert not (folder / "catalog.db").exists()
    assert len(web.log().requests) == seen


def test_a_catalog_without_the_log_that_belongs_to_it_is_not_begun_anew(tmp_path):
    """Killed early, a crawl has all that it knows in that log: a copy without it is empty."""
    with FakeWeb(pages=80, hosts=1, seed=6, max_seconds=300) as web:
        folder = tmp_path / "w"
        words = ["crawl", web.start_url, "--dir", folder, *QUICK]
        killing = signal_at(tmp_path, web.truth()["pages"][8], signal.SIGKILL)
        killed = gossamer(*words, *killing)
        assert killed.returncode == -signal.SIGKILL
        (folder / "catalog.db-wal").unlink()
        refused = gossamer(*words)
    assert refused.returncode == 3
    assert "catalog.db-wal" in refused.stderr


@pytest.mark.parametrize("url", ["ftp://a.example/", "http://", "http://a b/", "http://[::1"])
def test_a_url_that_is_none_is_refused_before_anything_is_made(tmp_path, url):
    folder = tmp_path / "w"
    done = gossamer("crawl", url, "--dir", folder)
    assert done.returncode == 2
    assert done.stderr.startswith("gossamer: ")
    assert done.stderr.count("\n") == 1
    assert not folder.exists()


def test_what_the_workspace_does_not_keep_is_asked_for_again(web, tmp_path):
    words = ["crawl", web.start_url, "--dir", tmp_path / "w", *QUICK, "--max-pages"]
    secret = ["--set", 'spider.headers={"X-Key"="hush"}', "--set", 'spider.header_hosts=["a.test"]']
    assert "not kept" not in gossamer(*words, 1, *secret).stderr
    reminded = gossamer(*words, 2)
    assert reminded.returncode == 0
    assert "gossamer: not kept from an earlier run" in reminded.stderr
    assert "the header X-Key" in reminded.stderr
    assert "hush" not in reminded.stderr
    assert "not kept" not in gossamer(*words, 3, *secret).stderr
    assert gossamer(*words, 4, "--quiet").stderr == ""


def few_files(number: int) -> dict[str, object]:
    """Return how to start a command that may have only so many files open."""
    limits = (number, number)
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits)}


@pytest.mark.parametrize("command", ["crawl", "site"])
def test_too_few_open_files_are_refused_with_the_number_needed(web, tmp_path, command):
    """Blamed on the site, they would look like a robots.txt that cannot be reached."""
    seen = len(web.log().requests)
    kept = "--dir" if command == "crawl" else "--keep"
    refused = gossamer(command, web.start_url, kept, tmp_path / "w", **few_files(100))
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "100 open files" in refused.stderr
    assert "at least 130 are needed" in refused.stderr
    assert not (tmp_path / "w").exists()
    assert len(web.log().requests) == seen


def test_few_open_files_make_fewer_fetches_at_once(web, tmp_path):
    words = ["crawl", web.start_url, "--dir", tmp_path / "w", *QUICK, "--concurrency", 64]
    done = gossamer(*words, **few_files(132))
    assert done.returncode == 0, done.stderr
    assert "at most 2 fetches at once instead of 64" in done.stderr
    assert "ulimit -n 256" in done.stderr
    assert counts(tmp_path / "w")["pending"] == 0
    assert gossamer(*words, "--quiet", **few_files(132)).stderr == ""


def test_a_long_crawl_delay_is_named_while_it_is_waited_for(tmp_path):
    """Else a crawl of a host that asks for an hour would look as if it hung."""
    with FakeWeb(pages=5, hosts=1, seed=5, crawl_delay=3_600, max_seconds=300) as web:
        words = ["crawl", web.start_url, "--dir", str(tmp_path / "w"), "--delay", "0"]
        crawl = subprocess.Popen([*GOSSAMER, *words], stderr=subprocess.PIPE, text=True)
        try:
            assert crawl.stderr is not None
            line = next(line for line in crawl.stderr if "state waiting" in line)
            assert "waiting for 127.16.0.1 (its Crawl-delay: 1 h 0 min)" in line
        finally:
            crawl.kill()
            crawl.communicate()


def test_a_wait_for_another_try_is_named(tmp_path):
    with FakeWeb(pages=5, hosts=1, seed=5, robots={-1: "503"}, max_seconds=300) as web:
        words = ["crawl", web.start_url, "--dir", str(tmp_path / "w"), *QUICK]
        crawl = subprocess.Popen([*GOSSAMER, *words], stderr=subprocess.PIPE, text=True)
        try:
            assert crawl.stderr is not None
            line = next(line for line in crawl.stderr if "state waiting" in line)
            assert "waiting until 1 URL may be tried again" in line
        finally:
            crawl.kill()
            crawl.communicate()


def test_concurrency_counts_what_is_asked_of_robots_txt_too(tmp_path):
    """As many hosts at once would be asked as there are queues, however few were wanted."""
    with FakeWeb(pages=24, hosts=12, seed=5, latency_ms=200, max_seconds=300) as web:
        words = ["crawl", *web.start_urls, "--dir", tmp_path / "w", *QUICK, "--concurrency", 3]
        done = gossamer(*words, "--max-pages", 12)
        assert done.returncode == 0, done.stderr
        requests = web.log().requests
    ends = sorted(each.end_ns for each in requests if each.end_ns is not None)
    starts = sorted(each.start_ns for each in requests)
    at_once = [n - bisect_left(ends, start) for n, start in enumerate(starts, 1)]
    assert max(at_once) <= 3


def test_the_reason_to_set_robots_txt_aside_is_logged(web, tmp_path):
    words = ["crawl", web.start_url, "--dir", tmp_path / "w", *QUICK, "--max-pages", 1]
    setting = "urlserver.robots_ignore={'127.16.0.1'='our own site'}"
    told = gossamer(*words, "--set", setting)
    assert "gossamer: robots.txt of 127.16.0.1 is set aside: our own site\n" in told.stderr
    assert gossamer(*words, "--set", setting, "--quiet").stderr == ""


DEADLY = """
import os
from pathlib import Path

mark = Path(__file__).with_name("loaded")
if mark.exists():
    os._exit(3)
mark.touch()


def look(page):
    return ()
"""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("setting", "code", "words"),
    [
        ("handlers.use=['{folder}/no.py:look']", 2, "cannot load handler"),
        ("handlers.use=['{folder}/deadly.py:glance']", 2, "there is no glance"),
        ("handlers.use=['{folder}/broken.py:look']", 2, "ZeroDivisionError"),
        ("handlers.keep_if={folder}/no.py:look", 2, "cannot load handler"),
        ("store.raw_folder={folder}/broken.py", 4, "cannot make"),
    ],
)
def test_what_workers_could_not_begin_with_is_told_once(tmp_path, workers, setting, code, words):
    """They are not replaced, one after the other, without an end."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    (tmp_path / "broken.py").write_text("1 / 0")
    flags = ["--set", setting.format(folder=tmp_path), "--workers", workers]
    done = gossamer("crawl", "http://127.0.0.1/", "--dir", tmp_path / "w", *flags)
    assert done.returncode == code
    assert words in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_a_crawl_whose_workers_all_die_before_they_begin_ends(tmp_path):
    (tmp_path / "deadly.py").write_text(DEADLY)
    # Quiet: on a busy machine it takes so long that progress would be shown.
    flags = ["--set", f"handlers.use=['{tmp_path}/deadly.py:look']", "--workers", 2, "--quiet"]
    done = gossamer("crawl", "http://127.0.0.1/", "--dir", tmp_path / "w", *flags)
    assert done.returncode == 6
    assert "ended before they could begin" in done.stderr
    assert "enough memory" in done.stderr
    assert "run the same command again to go on" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    numbers = counts(tmp_path / "w")
    assert numbers["pending"] + numbers["leased"] == numbers["discovered"] == 1
