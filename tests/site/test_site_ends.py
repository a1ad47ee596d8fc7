"""`gossamer site` at its end: exit codes, and what is said when something is missing in the map."""

import os
import pty
import shlex
import signal
import subprocess
import termios
import threading

import pytest
from site_rig import GOSSAMER, Asked, Reply, Site, moved, page, run_site, site_map

MAP = b"<urlset><url><loc>%s</loc></url></urlset>"


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "/start failed: HTTP 404"),
        ({"/start": moved("/gone")}, "/gone failed: HTTP 404"),
        ({"/start": moved("/start")}, "/start failed: redir.loop"),
        ({"/robots.txt": "User-agent: *\nDisallow: /start\n"}, "robots.txt forbids"),
    ],
)
@pytest.mark.req("S2.32")
def test_a_start_page_that_fails_is_told_though_a_sitemap_names_others(answers, words):
    """A map without its start page is no success."""

    def sitemap(asked: Asked) -> Reply:
        return Reply(MAP % f"http://{asked.headers['host']}/listed".encode())

    answers = {"/robots.txt": "", "/listed": page(title="listed"), "/map.xml": sitemap, **answers}
    answers["/robots.txt"] += "Sitemap: /map.xml\n"
    with Site(answers) as site:
        result = run_site(site.url("/start"), "--quiet")
    assert result.returncode == 5
    assert "/listed" in result.stdout
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_waits_for_a_robots_txt_is_named_with_the_reason():
    """As links to https where nobody speaks TLS: the map is not whole, and says where."""
    with Site(lambda path: start if path == "/" else None) as site:
        secure = site.url("/x").replace("http:", "https:")
        start = page(secure, title="Start")
        found = site_map(site.url(), code=5)
    assert not found["summary"]["complete"]
    (error,) = found["errors"]
    assert (error["url"], error["linked_from"]) == (secure, [site.url()])
    assert "robots.txt cannot be read" in error["error"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_before_the_first_page_has_its_own_exit_code(tmp_path, number, code):
    """The advice can be followed as it is written, also with a blank in the name."""
    kept = tmp_path / "kept here"
    asked, go_on = threading.Event(), threading.Event()

    def slow(request: Asked) -> str:
        asked.set()
        go_on.wait(60)
        return page(title="Start")

    with Site({"/": slow}) as site:
        process = subprocess.Popen(
            [*GOSSAMER, "site", site.url(), "--keep", str(kept), "--quiet", "--workers", "0"],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert asked.wait(60)
        os.kill(process.pid, number)
        # In good order: it waits a while for what is open.
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
        go_on.set()
        assert (process.returncode, out) == (code, "")
        assert err.count("\n") == 1
        words = shlex.split(err.partition("gossamer site ")[2].partition(", and the")[0])
        assert words == ["--resume", str(kept)]
        assert [each["title"] for each in site_map(*words)["pages"]] == ["Start"]


@pytest.mark.req("S2.4", "S2.27")
def test_pages_that_another_command_fetched_have_their_assets(tmp_path):
    """A workspace of `gossamer crawl`, also with records of a handler of the user's own."""
    (tmp_path / "own.py").write_text("def note(page):\n    yield {'assets': len(page.links)}\n")
    answers = {
        "/": "<title>Start</title><meta name=description content=D><img src=/i.png><a href=/a>a",
        "/a": "<title>A</title><script src=/s.js></script>",
    }
    plain, own = tmp_path / "plain", tmp_path / "own"
    with Site(answers) as site:
        for folder, flags in ((plain, ()), (own, ("--set", 'handlers.use=["own:note"]'))):
            crawl = [*GOSSAMER, "crawl", site.url(), "--dir", str(folder), "--delay", "0", *flags]
            environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
            subprocess.run([*crawl, "--quiet"], check=True, timeout=120, env=environment)
        whole = site_map(site.url())
        maps = [site_map("--resume", str(folder)) for folder in (plain, own)]
        for file in (plain / "archive").glob("*.warc.gz"):
            file.unlink()
        bare = site_map("--resume", str(plain))
    for found in maps:
        assert [each | {"milliseconds": 0} for each in found["pages"]] == [
            each | {"milliseconds": 0} for each in whole["pages"]
        ]
        assert found["summary"]["notes"] == []
    assert whole["pages"][0]["assets"]["img"] == [site.url("/i.png")]
    assert "2 pages" in bare["summary"]["notes"][0]


def test_a_workspace_of_an_earlier_version_goes_on(tmp_path):
    """Also one whose making was cut off by a full disk: nothing is in its catalog."""
    (tmp_path / "catalog.db").touch()
    with Site({"/": page(title="Start")}) as site:
        found = site_map(site.url(), "--resume", str(tmp_path))
    assert found["pages"][0]["title"] == "Start"


def shown(url: str, encoding: str, columns: int = 200) -> str:
    """Return what a person sees on a terminal with this encoding."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, columns))
    process = subprocess.Popen(
        [*GOSSAMER, "site", url, "--audit", "--workers", "0"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "PYTHONIOENCODING": encoding, "TERM": "xterm"},
    )
    os.close(slave)
    parts = []
    try:
        while part := os.read(master, 65_536):
            parts.append(part)
    except OSError:
        pass  # The other end is closed.
    os.close(master)
    assert process.wait(60) == 0
    return b"".join(parts).decode(encoding)


def test_a_terminal_gets_only_what_it_can_show():
    """Lines and icons where it has them; else plain text in its own encoding."""
    with Site({"/": page("/a", title="Über ★"), "/a": page("/gone")}) as site:
        plain, drawn = shown(site.url(), "latin-1"), shown(site.url(), "utf-8")
    assert "Über \\u2605" in plain
    assert "  /a" in plain
    assert "\\u25" not in plain  # no lines, no bars
    assert "\\U000" not in plain  # no icons
    assert "Über ★" in drawn
    assert "└─" in drawn


def test_a_terminal_that_is_narrow_gets_shorter_titles():
    with Site({"/": page("/a"), "/a": page(title="many words " * 9)}) as site:
        narrow, wide = shown(site.url(), "utf-8", 40), shown(site.url(), "utf-8")
    assert "/a\x1b[0m  many words many words many wo…\r\n" in narrow
    assert "/a\x1b[0m  " + " ".join(["many words"] * 9) + "\r\n" in wide
