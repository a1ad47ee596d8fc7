"""`gossamer site`: limits, errors, identity, output, exit codes, going on after Ctrl-C."""

import gzip
import json
import os
import re
import signal
import subprocess
import threading
import time
from datetime import UTC, datetime

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


def test_which_pages_a_limit_leaves_does_not_depend_on_the_order_of_answers():
    """They are the first in the order of the map, and no more are asked for than that."""

    def hesitant(path: str):
        def answer(asked: Asked):
            if path != "/robots.txt":
                # The first pages of each level answer last.
                time.sleep(0.08 / (1 + int(path[1:] or 0)))
            return chain(path) or Reply(b"", 404)

        return answer

    with Site(chain) as site:
        whole = paths(site_map(site.url(), "--concurrency", "1"))
    for flags in (("--concurrency", "1"), ("--concurrency", "16"), ("--workers", "2")):
        with Site(hesitant) as site:
            few = site_map(site.url(), "--max-pages", "50", *flags)
        assert paths(few) == whole[:50]
        assert set(site.counts()) - {"/robots.txt", "/sitemap.xml"} == set(whole[:50])


def test_a_workspace_is_not_taken_for_a_new_one(tmp_path):
    """Its pages would be shown as they were then."""
    kept = str(tmp_path / "kept")
    with Site({"/": page(title="then")}) as site:
        assert run_site(site.url(), "--keep", kept).returncode == 0
        again = run_site(site.url(), "--keep", kept)
        assert len(site.asked) == 3
    assert again.returncode == 2
    assert f"--resume {kept}" in again.stderr
    assert again.stdout == ""


def test_a_limit_is_raised_when_a_kept_crawl_goes_on(tmp_path):
    kept = str(tmp_path / "kept")
    with Site(chain) as site:
        first = site_map(site.url(), "--max-pages", "10", "--keep", kept)
        second = site_map("--resume", kept, "--max-pages", "30")
        third = site_map("--resume", kept)
        asked = site.counts()
        whole = site_map(site.url())
    assert paths(first) == paths(whole)[:10]
    assert paths(second) == paths(whole)[:30]
    assert (second["summary"]["complete"], second["summary"]["stopped_by"]) == (False, "max-pages")
    assert paths(third) == paths(whole)
    assert third["summary"]["complete"]
    assert {asked[path] for path in paths(whole)} == {1}


def test_max_time_stops_and_prints_what_is_there():
    def slow(path: str):
        def answer(asked: Asked):
            time.sleep(0.1 if path != "/robots.txt" else 0)
            return chain(path) or Reply(b"", 404)

        return answer

    with Site(slow) as site:
        # Long enough for the first page on a busy machine; all of them take twenty seconds.
        found = site_map(site.url(), "--max-time", "6", "--concurrency", "1")
    assert found["summary"]["stopped_by"] == "max-time"
    assert 1 <= len(found["pages"]) < 200


@pytest.mark.req("S2.36", "S2.37")
@pytest.mark.parametrize("status", [503, 408, 421, 425])
def test_errors_have_a_section_of_their_own_and_transient_ones_a_second_try(status):
    tries = {"/flaky": 0}

    def flaky(asked: Asked):
        tries["/flaky"] += 1
        return page(text="now") if tries["/flaky"] > 1 else Reply(b"later", status)

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


@pytest.mark.parametrize("robots", [None, Reply(b"User-agent: *\nCrawl-delay: 1\n")])
def test_a_slow_pace_is_kept_and_does_not_end_the_crawl(robots):
    """That a site or the user wants long gaps is no trouble to lose patience over."""
    moments: list[float] = []

    def answer(asked: Asked) -> str:
        moments.append(time.monotonic())
        return page("/a") if asked.path == "/" else page(title="a")

    flags = ("--delay", "1") if robots is None else ()
    with Site({"/": answer, "/a": answer, "/robots.txt": robots or Reply(b"", 404)}) as site:
        found = site_map(site.url(), *flags, "--set", "crawl.patience_seconds=0.2")
    assert paths(found) == ["/", "/a"]
    assert moments[1] - moments[0] > 0.9


def test_what_failed_and_must_wait_is_among_the_errors():
    """Nobody waits for as long as that server wants; what it said is known all the same."""
    later = Reply(b"", 503, {"Retry-After": "3600"})
    with Site({"/": page("/later", title="Start"), "/later": later}) as site:
        result = run_site(site.url())
        found = site_map(site.url(), code=5)
    assert result.returncode == 5
    assert "503  /later  HTTP 503 Service Unavailable" in result.stdout
    assert re.search("1 URL is left that must wait for (59 min [0-9]+ s|1 h 0 min) ", result.stderr)
    assert not found["summary"]["complete"]
    assert [each["linked_from"] for each in found["errors"]] == [[site.url()]]
    assert result.stderr.count("(") == result.stderr.count(")")
    with Site({"/": later}) as site:
        result = run_site(site.url())
    assert result.returncode == 5
    assert "HTTP 503 Service Unavailable; the server is in trouble: try again" in result.stderr


@pytest.mark.req("S2.36")
def test_what_failed_waits_in_a_queue_of_its_own_until_all_others_are_done():
    """The second try comes last; what only it leads to comes after that (B13)."""
    tries = [0]

    def flaky(asked: Asked):
        tries[0] += 1
        return page("/late") if tries[0] > 1 else Reply(b"", 503)

    def answer(path: str):
        if path == "/":
            return page("/flaky", "/1", "/2")
        known = {"/flaky": flaky, "/late": page(text="late"), "/robots.txt": None}
        return known[path] if path in known else chain(path)

    with Site(answer) as site:
        found = site_map(site.url(), "--concurrency", "1")
    assert found["errors"] == []
    assert found["summary"]["complete"]
    assert site.counts()["/flaky"] == 2
    asked = [each.path for each in site.asked if each.path != "/sitemap.xml"]
    assert asked.index("/flaky") < 5
    assert asked[-2:] == ["/flaky", "/late"]
    assert len(asked) == 205


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
    with Site({}) as site:
        no_tls = run_site(site.url().replace("http:", "https:"), "--quiet")
    assert no_tls.returncode == 5
    assert "write http://" in no_tls.stderr
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


def test_what_is_secret_does_not_go_to_another_port_of_the_host():
    """Another server may listen there, of somebody else."""
    flags = ("--header", "X-Key: 1", "--cookie", "a=b", "--auth", "me:secret")
    with Site({"/x.png": "x"}) as other:
        home = f"<img src='/x.png'><img src='{other.url('/x.png')}'>"
        with Site({"/": home, "/x.png": "x"}) as site:
            site_map(site.url(), *flags, "--check-assets")
    secret = {"x-key", "cookie", "authorization"}
    assert {each.path for each in other.asked} == {"/robots.txt", "/x.png"}
    assert not any(secret & set(each.headers) for each in other.asked)
    assert all(secret <= set(each.headers) for each in site.asked)


def test_a_secret_that_cannot_be_sent_is_not_printed_either():
    result = run_site("http://127.0.0.1:8999/", "--header", "X-Key: geheimnisträger")
    assert result.returncode == 2
    assert "X-Key" in result.stderr
    assert "geheim" not in result.stderr


def test_what_is_secret_is_not_kept_and_resume_says_so(tmp_path):
    """Neither in the settings file nor in the archive nor anywhere else in the workspace."""

    def guarded(asked: Asked):
        if asked.headers.get("authorization") != "Basic bWU6aDFkZGVu":
            return Reply(b"", 401)
        return chain(asked.path) or Reply(b"", 404)

    kept = tmp_path / "kept"
    secrets = ("--auth", "me:h1dden", "--cookie", "session=c00kie", "--header", "X-Key: k3y")
    with Site(lambda path: guarded if path != "/robots.txt" else None) as site:
        first = site_map(site.url(), "--keep", str(kept), "--max-pages", "5", *secrets)
        files = [path for path in kept.rglob("*") if path.is_file()]
        bare = run_site("--resume", str(kept), "--max-pages", "9", "--format", "json")
        again = run_site(
            site.url(), "--resume", str(kept), "--max-pages", "20", *secrets, "--quiet"
        )
    assert first["summary"]["pages"] == 5
    assert kept / "gossamer.toml" in files
    for path in files:
        content = path.read_bytes()
        content += gzip.decompress(content) if path.name.endswith(".warc.gz") else b""
        for secret in (b"me:h1dden", b"bWU6aDFkZGVu", b"c00kie", b"k3y"):
            assert secret not in content, path
    for name in ("Authorization", "Cookie", "X-Key"):
        assert f"the header {name}" in bare.stderr
    assert "HTTP 401" in bare.stdout
    assert again.stderr == ""
    assert again.returncode == 0


@pytest.mark.req("S2.8", "S2.9", "S2.34", "S2.35", "S2.44")
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
        found = site_map(site.url(), *options)
    assert most[0] == wanted
    assert len(found["pages"]) == 41


def test_the_command_offers_all_formats_there_are():
    assert tuple(writing.FORMATS) == FORMATS


def test_a_sitemap_that_lists_nothing_says_why(tmp_path):
    """As that of a preview, whose canonical links are those of the real site."""
    real = "<link rel=canonical href='https://real.example/'>"
    for head, complains in ((real, True), ("", False)):
        with Site({"/": f"<!DOCTYPE html><title>Home</title>{head}"}) as site:
            done = run_site(site.url(), "--format", "xml", "-o", str(tmp_path / "sitemap.xml"))
        assert done.returncode == 0
        assert ("lists no page" in done.stderr) == complains
        assert (f"such as https://real.example/ for {site.url()}" in done.stderr) == complains


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


def test_a_report_says_when_it_was_made(tmp_path):
    before = datetime.now(UTC).isoformat(timespec="minutes")
    with Site({"/": page()}) as site:
        run_site(site.url(), "-o", str(tmp_path / "report.html"))
    after = datetime.now(UTC).isoformat(timespec="minutes")
    (made_at,) = re.findall('"made_at":"([^"]*)"', (tmp_path / "report.html").read_text())
    assert before <= made_at <= after


def test_the_summary_stands_apart_from_the_findings(tmp_path):
    with Site({"/": page("/gone")}) as site:
        result = run_site(site.url(), "--audit", "-o", str(tmp_path / "site.json"))
    assert "\n\n  Pages " in result.stdout


def test_what_cannot_be_written_is_told_before_anything_is_fetched(tmp_path):
    file = str(tmp_path / "x")
    with Site(chain) as site:
        for words in (
            ("-o", "/proc/x.json"),
            ("-o", f"{tmp_path}/{'long' * 70}.json"),
            ("-o", f"{tmp_path}/{'long' * 70}/site.json"),
            ("--format", "json", "--format", "csv", "-o", f"{tmp_path}/{'long' * 70}"),
            ("--format", "json", "--format", "csv", "-o", file, "-o", file),
            ("--format", "json", "--format", "csv", "-o", "-"),
            ("--format", "json", "--format", "csv", "-o", "-", "-o", "-"),
        ):
            result = run_site(site.url(), *words)
            assert result.returncode == 2, words
            assert result.stderr.count("\n") == 1
        assert site.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_and_standard_output_has_a_name(tmp_path):
    with Site({"/": page()}) as site:
        folder = run_site(site.url(), "--format", "json", "-o", f"{tmp_path}/new/")
        named = run_site(site.url(), "--format", "json", "-o", "-")
        device = run_site(site.url(), "--format", "json", "-o", "/dev/stdout")
        both = run_site(
            site.url(), "--format", "json", "-o", "-", "--format", "csv", "-o", "/dev/null"
        )
    assert folder.returncode == 0
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["site.json"]
    assert json.loads(named.stdout)["summary"]["pages"] == 1
    assert json.loads(device.stdout)["summary"]["pages"] == 1
    assert json.loads(both.stdout)["summary"]["pages"] == 1


def test_a_format_that_cannot_be_written_does_not_take_the_others_along(tmp_path):
    kept = tmp_path / "site.json"
    with Site({"/": page()}) as site:
        words = ("--format", "csv", "-o", "/dev/full", "--format", "json", "-o", str(kept))
        result = run_site(site.url(), *words)
    assert result.returncode == 4
    assert json.loads(kept.read_bytes())["summary"]["pages"] == 1


def test_fail_on_and_compare(tmp_path):
    answers = {"/": page("/gone", "/a", title="Start"), "/a": page(title="A")}
    old = tmp_path / "old.json"
    with Site(answers) as site:
        first = run_site(site.url(), "-o", str(old), "--fail-on", "error")
        answers["/a"] = page("/b", title="Another")
        answers["/b"] = page(title="B")
        second = run_site(site.url(), "--compare", str(old))
        third = site_map(site.url(), "--compare", str(old))
    assert first.returncode == 1
    assert "/gone" in first.stdout
    assert second.returncode == 0
    assert "/b" in second.stdout
    assert "Another" in second.stdout
    changes = third["changes"]
    assert [each["url"] for each in changes["added"]] == [site.url("/b")]
    assert changes["changed_title"] == [{"url": site.url("/a"), "before": "A", "after": "Another"}]
    assert changes["changed_content"] == [site.url("/a")]
    bad = run_site("http://x.invalid/", "--compare", str(tmp_path / "no.json"))
    assert bad.returncode == 2


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


def test_what_was_kept_can_be_audited_another_day(tmp_path):
    text = " ".join(f"Sentence {number} of a long text." for number in range(400))
    answers = {"/": page("/a", "/b")} | {f"/{name}": page(title=name, text=text) for name in "ab"}
    with Site(answers) as site:
        run_site(site.url(), "--keep", str(tmp_path / "kept"))
        found = site_map("--resume", str(tmp_path / "kept"), "--audit")
    near = [each for each in found["audit"]["findings"] if each["rule"] == "near-duplicate-page"]
    assert [each["where"] for each in near] == [{site.url("/a"): [site.url("/b")]}]
