"""`gossamer site`: limits, errors, identity, output, exit codes, going on after Ctrl-C."""

import json
import os
import signal
import subprocess
import threading
import time

import pytest
from site_rig import GOSSAMER, Asked, Reply, Site, page, paths, run_site, site_map

from gossamer.cli.site import FORMATS
from gossamer.site import writing


def chain(path: str) -> str | None:
    """A site of 200 pages, each of which leads to the next two."""
    if path == "/":
        return page("/1", "/2", title="Start")
    number = path[1:]
    if not number.isdecimal() or int(number) > 200:
        return None
    below = [f"/{2 * int(number) + offset}" for offset in (1, 2)]
    # In letters: pages that differ in numbers only would be taken for a trap.
    name = number.translate(str.maketrans("0123456789", "abcdefghij"))
    return page("/", *(each for each in below if int(each[1:]) <= 200), title=f"Page {name}")


def test_limits_end_the_crawl_with_success_and_say_so():
    with Site(chain) as site:
        few = site_map(site.url(), "--max-pages", "10")
        near = site_map(site.url(), "--max-depth", "2")
        none = site_map(site.url(), "--max-depth", "0")
        chosen = site_map(site.url(), "--exclude", "/[2-9]")
    assert few["summary"]["pages"] == 10
    assert (few["summary"]["complete"], few["summary"]["stopped_by"]) == (False, "max-pages")
    assert paths(near) == ["/", "/1", "/2", "/3", "/4", "/5", "/6"]
    assert near["summary"]["stopped_by"] == "max-depth"
    assert paths(none) == ["/"]
    assert "/3" not in paths(chosen)
    assert chosen["summary"]["complete"]


def test_max_time_stops_and_prints_what_is_there():
    def slow(path: str):
        def answer(asked: Asked):
            time.sleep(0.1 if path != "/robots.txt" else 0)
            return chain(path) or Reply(b"", 404)

        return answer

    with Site(slow) as site:
        found = site_map(site.url(), "--max-time", "2", "--concurrency", "1")
    assert found["summary"]["stopped_by"] == "max-time"
    assert 1 <= len(found["pages"]) < 200


@pytest.mark.req("S2.36", "S2.37")
def test_errors_have_a_section_of_their_own_and_transient_ones_a_second_try():
    tries = {"/flaky": 0}

    def flaky(asked: Asked):
        tries["/flaky"] += 1
        return page(text="now") if tries["/flaky"] > 1 else Reply(b"later", 503)

    answers = {
        "/": page("/gone", "/flaky", "/broken", "/fine"),
        "/flaky": flaky,
        "/broken": Reply(b"oh", 500),
        "/fine": page("/gone"),
    }
    with Site(answers) as site:
        found = site_map(site.url())
        tree = run_site(site.url()).stdout
    counts = site.counts()
    assert found["by_url"][site.url("/flaky")]["error"] is None
    errors = {each["url"]: each for each in found["errors"]}
    assert set(errors) == {site.url("/gone"), site.url("/broken")}
    assert errors[site.url("/gone")]["error"] == "HTTP 404 Not Found"
    assert errors[site.url("/gone")]["linked_from"] == [site.url(), site.url("/fine")]
    assert errors[site.url("/broken")]["status"] == 500
    # Two runs: each asks once for what is gone, twice for what may recover.
    assert (counts["/gone"], counts["/broken"]) == (2, 4)
    assert "Errors" in tree


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "HTTP 404"),
        ({"/": Reply(b"", 500)}, "HTTP 500"),
        (
            {"/robots.txt": Reply(b"User-agent: *\nDisallow: /\n"), "/": page()},
            "robots.txt forbids",
        ),
        ({"/": Reply(status=302, headers={"Location": "/x"})}, "HTTP 404"),
    ],
)
def test_a_start_page_that_fails_is_one_clear_message(answers, words):
    with Site(answers) as site:
        result = run_site(site.url(), "--quiet")
    assert result.returncode == 5
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert result.stdout == ""


def test_nobody_there_is_one_clear_message():
    with Site({}) as site:
        url = site.url()
    result = run_site(url, "--quiet")
    assert result.returncode == 5
    assert "net.refused" in result.stderr
    assert run_site().returncode == 2
    assert run_site("ftp://x.invalid/").returncode == 2


def test_what_is_secret_goes_to_the_named_host_only():
    answers = {
        "/": page("/a"),
        "/a": page(),
    }

    def answer(path: str):
        def reply(asked: Asked):
            if path == "/away":
                return Reply(status=302, headers={"Location": site.url("/", "127.0.0.2")})
            return answers.get(path, Reply(b"", 404))

        return reply

    flags = ("--header", "X-Key: 1", "--cookie", "a=b", "--auth", "me:secret")
    with Site(answer) as site:
        found = site_map(site.url("/away"), *flags, "--user-agent", "tester")
    assert found["summary"]["pages"] == 2
    for asked in site.asked:
        names = {"x-key", "cookie", "authorization"} & set(asked.headers)
        assert bool(names) == (asked.address == "127.0.0.1")
        assert asked.headers["user-agent"] == "tester"
    assert site.asked[0].headers["authorization"] == "Basic bWU6c2VjcmV0"


@pytest.mark.req("S2.8", "S2.9", "S2.25", "S2.26", "S2.34", "S2.35", "S2.44")
@pytest.mark.parametrize(("options", "wanted"), [(("--concurrency", "5"), 5), ((), 8)])
def test_so_many_requests_are_open_at_once_as_asked_for_and_no_more(
    options: tuple[str, ...], wanted: int
):
    """No answer is given before so many are open; then there is time for one too many to come."""
    changed, now, most = threading.Condition(), [0], [0]

    def answer(path: str):
        def reply(asked: Asked):
            with changed:
                now[0] += 1
                most[0] = max(most[0], now[0])
                changed.notify_all()
                if path != "/":
                    changed.wait_for(lambda: most[0] >= wanted, timeout=30)
            time.sleep(0.05)
            with changed:
                now[0] -= 1
            return page(*(f"/{n}" for n in range(40)), text=path)

        return reply if path != "/robots.txt" else None

    with Site(answer) as site:
        site_map(site.url(), *options)
    assert most[0] == wanted


def test_a_proxy_is_used_only_when_asked_for():
    """It resolves the names; the request names the whole URL."""

    def proxy(path: str):
        known = {"http://no-such-name.test/": page("/a"), "http://no-such-name.test/a": page()}
        return known.get(path)

    with Site(proxy) as site:
        found = site_map("http://no-such-name.test/", "--proxy", site.url())
        loud = run_site("http://no-such-name.test/", "--proxy", site.url(), "--max-pages", "1")
    assert paths(found) == ["/", "/a"]
    assert "proxy" in loud.stderr


def test_the_command_offers_all_formats_there_are():
    assert tuple(writing.FORMATS) == FORMATS


def test_formats_go_to_files_and_folders(tmp_path):
    with Site(chain) as site:
        flags = ("--max-pages", "20")
        several = run_site(
            site.url(), *flags, "--format", "json", "--format", "xml", "-o", str(tmp_path / "out")
        )
        one = run_site(site.url(), *flags, "-o", str(tmp_path / "x.csv"))
    assert several.returncode == one.returncode == 0
    assert json.loads((tmp_path / "out" / "site.json").read_bytes())["summary"]["pages"] == 20
    assert (tmp_path / "out" / "sitemap.xml").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "x.csv").read_text().count("\n") > 20
    assert "Pages" in one.stdout
    assert run_site("http://x.invalid/", "-o", "/nowhere/x.json").returncode == 2
    assert run_site("http://x.invalid/", "--format", "json", "--format", "csv").returncode == 2


def test_fail_on_and_compare(tmp_path):
    answers = {"/": page("/gone", "/a", title="Start"), "/a": page(title="A")}
    old = tmp_path / "old.json"
    with Site(answers) as site:
        first = run_site(site.url(), "-o", str(old), "--fail-on", "error")
        answers["/a"] = page("/b", title="Another")
        answers["/b"] = page(title="B")
        second = run_site(site.url(), "--compare", str(old))
    assert first.returncode == 1
    assert "/gone" in first.stdout
    assert second.returncode == 0
    assert "/b" in second.stdout
    assert "Another" in second.stdout
    bad = run_site("http://x.invalid/", "--compare", str(tmp_path / "no.json"))
    assert bad.returncode == 2


@pytest.mark.req("S2.16")
def test_ctrl_c_prints_what_is_there_and_resume_goes_on(tmp_path):
    def slow(path: str):
        def answer(asked: Asked):
            time.sleep(0.03 if path != "/robots.txt" else 0)
            return chain(path) or Reply(b"", 404)

        return answer

    kept = tmp_path / "kept"
    with Site(slow) as site:
        process = subprocess.Popen(
            [
                *GOSSAMER,
                "site",
                site.url(),
                "--keep",
                str(kept),
                "--concurrency",
                "2",
                "--quiet",
                "--format",
                "json",
                "--workers",
                "1",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(site.asked) < 20:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert f"--resume {kept}" in err
        first = json.loads(out)
        assert first["summary"]["stopped_by"] == "interrupted"
        assert 10 < len(first["pages"]) < 200
        second = site_map("--resume", str(kept))
        whole = site_map(site.url())
    assert second["summary"]["complete"]
    assert paths(second) == paths(whole)
    assert [p["checksum"] for p in second["pages"]] == [p["checksum"] for p in whole["pages"]]
    assert list((kept / "archive").glob("*.warc.gz"))
    counts = site.counts()
    # In both runs together: once for the kept crawl, but for what was open, and once for the other.
    assert sum(counts.values()) < 2 * 201 + 2 + 10
    assert run_site("--resume", str(tmp_path / "none")).returncode == 2


def test_assets_are_checked_by_head_then_get():
    def no_head(asked: Asked):
        return Reply(b"", 405) if asked.method == "HEAD" else Reply(b"x" * 100_000)

    answers = {
        "/": "<img src=/there.png><img src=/missing.png><img src=/shy.png><img src=/to.png>"
        "<iframe src=/page></iframe><img src=http://127.0.0.3:1/x.png>",
        "/page": page(),
        "/there.png": Reply(b"PNG" * 100, headers={"Content-Type": "image/png"}),
        "/shy.png": no_head,
        "/to.png": Reply(status=302, headers={"Location": "/there.png"}),
    }
    with Site(answers) as site:
        result = run_site(site.url(), "--check-assets", "--audit")
    assert result.returncode == 0, result.stderr
    heads, gets = site.counts("HEAD"), site.counts("GET")
    assert heads["/there.png"] == 1  # by itself, and at the end of a redirect
    assert gets["/there.png"] == 0
    assert (heads["/shy.png"], gets["/shy.png"]) == (1, 1)
    assert (heads["/missing.png"], gets["/missing.png"]) == (1, 1)
    assert gets["/page"] == 1
    assert "/missing.png" in result.stdout
