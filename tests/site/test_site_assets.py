"""`gossamer site --check-assets`: how assets are asked for, and how the answers are told."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from site_rig import Asked, Reply, Site, moved, page, run_site

PICTURE = Reply(b"PNG" * 100, headers={"Content-Type": "image/png"})


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
        result = run_site(site.url(), "--check-assets")
    assert result.returncode == 0, result.stderr
    heads, gets = site.counts("HEAD"), site.counts("GET")
    assert heads["/there.png"] == 1  # by itself, and at the end of a redirect
    assert gets["/there.png"] == 0
    assert (heads["/shy.png"], gets["/shy.png"]) == (1, 1)
    assert (heads["/missing.png"], gets["/missing.png"]) == (1, 1)
    assert gets["/page"] == 1
    assert "Note: not looked at: 1 of 6 assets, such as http://127.0.0.3:1/x.png (policy.port" in (
        result.stdout
    )
    told = result.stdout.partition("Audit: ")[2]
    assert "error: Broken assets (1) [broken-asset]" in told
    assert f"{site.url('/missing.png')}  (HTTP 404 Not Found)" in told


@pytest.mark.parametrize("answer", [b"", b"what is HEAD?\r\n", b"HTTP/1.1 304 No\r\n\r\n", None])
def test_a_server_that_does_not_know_head_is_asked_by_get(answer: bytes | None):
    """Some close the connection without a word, say what is no answer, or nothing for ever."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<img src=/there.png>" if self.path == "/" else b"x"
            self.send_response(404 if self.path.endswith((".txt", ".xml")) else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            if answer is None:
                over.wait()
            self.wfile.write(answer or b"")

        def log_message(self, *words: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        result = run_site(url, "--check-assets", "--set", "spider.timeout_first_byte_ms=500")
        over.set()
        server.shutdown()
    assert "Audit: 0 errors" in result.stdout


def test_a_check_that_was_broken_off_does_not_pass_for_one_that_found_nothing(tmp_path):
    def slow(asked: Asked) -> Reply:
        time.sleep(60)
        return PICTURE

    file = tmp_path / "site.json"
    with Site({"/": "<img src=/slow.png>", "/slow.png": slow}) as site:
        result = run_site(site.url(), "--check-assets", "--max-time", "4", "-o", str(file))
    assert result.returncode == 0
    (note,) = json.loads(file.read_bytes())["summary"]["notes"]
    assert note.startswith("not looked at: 1 of 1 asset, ")
    assert note in result.stdout


def test_only_what_became_of_assets_is_told_unless_an_audit_is_wanted(tmp_path):
    answers = {"/": "<img src=/gone.png><img src=/secret.png>", "/secret.png": Reply(b"", 403)}
    with Site(answers) as site:
        checked = run_site(site.url(), "--check-assets", "-o", str(tmp_path / "a.json"))
        audited = run_site(site.url(), "--check-assets", "--audit", "-o", str(tmp_path / "b.json"))
        plain = run_site(site.url(), "-o", str(tmp_path / "c.json"))
    findings = json.loads((tmp_path / "a.json").read_bytes())["audit"]["findings"]
    assert {each["rule"]: each["urls"] for each in findings} == {
        "broken-asset": [site.url("/gone.png")],
        "refused-asset": [site.url("/secret.png")],
    }
    assert checked.stdout.count("[") == 2
    assert "[title-missing]" in audited.stdout
    assert "audit" not in json.loads((tmp_path / "c.json").read_bytes())
    assert "Audit" not in plain.stdout


def test_other_hosts_are_asked_slowly_and_by_their_rules():
    """Four requests a second at most, two at once, and nothing that their robots.txt forbids."""
    moments: list[float] = []

    def answer(asked: Asked) -> str | Reply:
        if asked.address == "127.0.0.1":
            there = site.url("", "127.0.0.2")
            pictures = "".join(f"<img src={there}/{number}.png>" for number in range(8))
            return (
                f"{pictures}<img src={there}/private/x.png>"
                if asked.path == "/"
                else Reply(b"", 404)
            )
        if asked.path == "/robots.txt":
            return Reply(b"User-agent: *\nDisallow: /private\n")
        moments.append(time.monotonic())
        return PICTURE

    with Site(lambda _: answer) as site:
        result = run_site(site.url(), "--check-assets", "--set", "url.allow_private=true")
    asked = [each for each in site.asked if each.address == "127.0.0.2"]
    assert asked[0].path == "/robots.txt"
    assert {each.path for each in asked[1:]} == {f"/{number}.png" for number in range(8)}
    assert {each.method for each in asked[1:]} == {"HEAD"}
    # A server that is busy sees single gaps shorter than they were, but not all of them together.
    assert moments[-1] - moments[0] > 7 * 0.25 * 0.6
    assert "Audit: 0 errors" in result.stdout


def test_a_host_that_lets_us_wait_does_not_keep_us_from_the_others():
    """Its assets are told as not looked at; the map is whole, and nothing else is called broken."""

    def shy(asked: Asked) -> Reply:
        return Reply(b"", 405) if asked.method == "HEAD" else PICTURE

    waiting = {"/x.png": PICTURE, "/robots.txt": Reply(b"", 503)}
    with (
        Site(waiting, place=("127.0.0.2", 0)) as busy,
        Site({"/shy.png": shy}, place=("127.0.0.3", 0)) as other,
    ):
        pictures = (busy.url("/x.png", "127.0.0.2"), other.url("/shy.png", "127.0.0.3"))
        with Site({"/": "".join(f"<img src={url}>" for url in pictures)}) as site:
            result = run_site(site.url(), "--check-assets", "--set", "url.allow_private=true")
    assert result.returncode == 0, result.stderr
    assert f"not looked at: 1 of 2 assets, such as {pictures[0]}" in result.stdout
    assert "Audit: 0 errors" in result.stdout


def test_an_asset_of_a_host_where_nobody_answers_is_broken():
    """Though its robots.txt comes first, and nobody gets to the asset itself."""
    with socket.create_server(("127.0.0.4", 0)) as gone:
        nowhere = f"http://127.0.0.4:{gone.getsockname()[1]}/x.png"
    answers = {"/": f"<img src={nowhere}><img src=/to.png>", "/to.png": moved(nowhere)}
    with Site(answers) as site:
        result = run_site(
            *(site.url(), "--check-assets", "--fail-on", "error"),
            *("--set", "url.allow_private=true", "--set", "crawl.patience_seconds=1"),
        )
    assert result.returncode == 1, result.stderr
    assert f"{nowhere}  (net.refused" in result.stdout
    assert f"{site.url('/to.png')}  (net.refused" in result.stdout
