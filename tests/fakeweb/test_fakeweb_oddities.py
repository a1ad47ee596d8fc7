"""Every misbehaving path, observed on a raw socket."""

import contextlib
import gzip
import io
import socket
import time
import zlib
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import pytest

from gossamer.fakeweb import FakeWeb
from gossamer.fakeweb.oddities import table
from gossamer.fakeweb.options import ROBOTS_VARIANTS
from gossamer.fakeweb.raw import RAW
from gossamer.outcomes import outcome_named

ODD_ROBOTS = {
    0: "timeout",
    1: "huge",
    2: "redirects-5",
    3: "redirects-6",
    4: "short",
    5: "reset",
    6: "500",
}


@pytest.fixture(scope="module")
def web():
    with FakeWeb(pages=90, hosts=9, robots=ODD_ROBOTS, traps=True) as running:
        yield running


@contextlib.contextmanager
def asking(web, target, *headers, host="127.0.0.1"):
    with socket.create_connection((host, web.port), timeout=10) as client:
        lines = "".join(f"{line}\r\n" for line in headers)
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}:{web.port}\r\n{lines}\r\n".encode())
        yield client


def read_for(client, seconds):
    """Return what arrives within a time, and whether the server ended the connection."""
    end, data = time.monotonic() + seconds, b""
    while (left := end - time.monotonic()) > 0:
        client.settimeout(left)
        try:
            piece = client.recv(1 << 20)
        except TimeoutError:
            break
        if not piece:
            return data, True
        data += piece
    return data, False


def fetch(web, target, *headers, host="127.0.0.1"):
    """Return everything the server sends until it closes."""
    with asking(web, target, *headers, "Connection: close", host=host) as client:
        data, ended = read_for(client, 20)
    assert ended
    return data


def split(data):
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    return status, dict(line.split(": ", 1) for line in lines[1:]), body


def last_request(web, target):
    for _ in range(2_000):
        found = [request for request in web.log().requests if request.target == target]
        if found and found[-1].end_ns is not None:
            return found[-1]
        time.sleep(0.01)
    raise AssertionError(f"no ended request for {target} in the log")


def test_drop_closes_without_a_byte(web):
    assert fetch(web, "/~/drop") == b""
    assert last_request(web, "/~/drop").how == "cut"


def test_reset_resets(web):
    with asking(web, "/~/reset") as client, pytest.raises(ConnectionResetError):
        client.recv(10)


def test_hang_says_nothing_and_its_end_is_the_clients(web):
    with asking(web, "/~/hang") as client:
        assert read_for(client, 0.4) == (b"", False)
    assert last_request(web, "/~/hang").how == "gone"


@pytest.mark.parametrize(
    ("name", "start", "whole_head"),
    [
        ("hang-in-headers", b"HTTP/1.1 200 OK\r\n", False),
        ("hang-in-body", b"HTTP/1.1 200 OK\r\n", True),
    ],
)
def test_a_hang_can_come_in_the_middle(web, name, start, whole_head):
    with asking(web, f"/~/{name}") as client:
        data, ended = read_for(client, 0.4)
    assert data.startswith(start)
    assert not ended
    assert data.endswith(b"\r\n\r\n") is whole_head


@pytest.mark.parametrize(("name", "before"), [("slow-headers", b""), ("slow-body", b"\r\n\r\n")])
def test_slow_answers_drip(web, name, before):
    began, data = time.monotonic(), b""
    with asking(web, f"/~/{name}") as client:
        while len(dripped := data.partition(before)[2] if before else data) < 3:
            piece = client.recv(1 << 20)
            assert piece
            data += piece
    assert len(dripped) <= 4 * (time.monotonic() - began) + 2


def test_endless_answers_go_on_until_the_client_has_enough(web):
    for name, border in (("endless-body", 3_000_000), ("endless-headers", 500_000)):
        received = b""
        with asking(web, f"/~/{name}") as client:
            while len(received) < border:
                piece = client.recv(1 << 20)
                assert piece
                received += piece
        assert (b"\r\n\r\n" in received) == (name == "endless-body")
        assert last_request(web, f"/~/{name}").how == "gone"


def test_the_short_body_is_shorter_than_its_length(web):
    _, headers, body = split(fetch(web, "/~/short-body"))
    assert len(body) * 2 == int(headers["Content-Length"])


def test_the_broken_chunk_size_is_no_number(web):
    _, headers, body = split(fetch(web, "/~/broken-chunked"))
    assert headers["Transfer-Encoding"] == "chunked"
    with pytest.raises(ValueError):
        int(body.split(b"\r\n")[2], 16)


def test_many_chunks_are_one_byte_each(web):
    body = split(fetch(web, "/~/many-chunks"))[2]
    assert body == b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n"


def test_the_bomb_is_a_valid_gzip_stream_of_a_gibibyte(web):
    _, headers, body = split(fetch(web, "/~/gzip-bomb"))
    assert headers["Content-Encoding"] == "gzip"
    assert len(body) == int(headers["Content-Length"]) < 1_200_000
    unpacker, size, rest = zlib.decompressobj(31), 0, body
    while not unpacker.eof:
        size += len(unpacker.decompress(rest, 1 << 24))
        rest = unpacker.unconsumed_tail
    assert size == 1 << 30


def test_the_truncated_gzip_ends_too_early_though_its_length_is_right(web):
    _, headers, body = split(fetch(web, "/~/gzip-truncated"))
    assert len(body) == int(headers["Content-Length"])
    with pytest.raises(EOFError):
        gzip.GzipFile(fileobj=io.BytesIO(body)).read()


def test_the_huge_header_is_a_megabyte(web):
    assert len(split(fetch(web, "/~/huge-header"))[1]["X-Huge"]) == 1_000_000


def test_not_http_is_a_banner(web):
    assert fetch(web, "/~/not-http").startswith(b"SSH-2.0-")


def test_close_after_breaks_its_promise(web):
    with asking(web, "/~/close-after") as client:
        data, ended = read_for(client, 5)
    assert b"Connection: keep-alive" in data
    assert ended


def test_redirects_loop_and_chain(web):
    assert split(fetch(web, "/~/redirect-loop"))[1]["Location"] == "/~/redirect-loop/a"
    assert split(fetch(web, "/~/redirect-loop/a"))[1]["Location"] == "/~/redirect-loop/b"
    assert split(fetch(web, "/~/redirect-loop/b"))[1]["Location"] == "/~/redirect-loop/a"
    assert split(fetch(web, "/~/redirect-self"))[1]["Location"] == "/~/redirect-self"
    target, hops = "/~/redirect-chain/21", 0
    while (answer := split(fetch(web, target)))[0] == 302:
        target, hops = answer[1]["Location"], hops + 1
    assert (answer[0], hops) == (200, 21)


def test_redirects_lead_where_the_path_says(web):
    assert split(fetch(web, "/~/private-redirect"))[1]["Location"] == "http://10.0.0.1/"
    metadata = split(fetch(web, "/~/private-redirect/metadata"))[1]["Location"]
    assert metadata.startswith("http://169.254.169.254/")
    elsewhere = split(fetch(web, "/~/redirect-to?url=http%3A%2F%2F127.0.0.9%2Fx%0d%0aA:b"))
    assert elsewhere[1]["Location"] == "http://127.0.0.9/x%0D%0AA:b"


@pytest.mark.parametrize(
    ("target", "status", "retry_after"),
    [
        ("/~/status/503?retry_after=2", 503, "2"),
        (
            "/~/status/429?retry_after=Wed,%2021%20Oct%202037%2007:28:00%20GMT",
            429,
            "Wed, 21 Oct 2037 07:28:00 GMT",
        ),
        ("/~/status/404", 404, None),
    ],
)
def test_any_status_with_any_retry_after(web, target, status, retry_after):
    found, headers, _ = split(fetch(web, target))
    assert (found, headers.get("Retry-After")) == (status, retry_after)


def test_conditions_are_honoured(web):
    status, headers, body = split(fetch(web, "/~/etag"))
    assert (status, bool(body)) == (200, True)
    assert split(fetch(web, "/~/etag", f"If-None-Match: {headers['ETag']}"))[0] == 304
    assert split(fetch(web, "/~/etag", f"If-Modified-Since: {headers['Last-Modified']}"))[0] == 304
    assert split(fetch(web, "/~/etag", 'If-None-Match: "other"'))[0] == 200


def test_changing_changes(web):
    assert split(fetch(web, "/~/changing"))[2] != split(fetch(web, "/~/changing"))[2]


def test_the_cookie_is_asked_for_until_it_comes(web):
    status, headers, _ = split(fetch(web, "/~/cookie"))
    assert (status, headers["Location"]) == (302, "/~/cookie")
    pair = headers["Set-Cookie"].partition(";")[0]
    assert split(fetch(web, "/~/cookie", f"Cookie: {pair}"))[0] == 200


def test_meta_refresh_names_its_target(web):
    assert b'http-equiv="refresh" content="0; url=/~/meta-refresh/target"' in fetch(
        web, "/~/meta-refresh"
    )
    assert b"Arrived" in fetch(web, "/~/meta-refresh/target")


def test_charsets_are_named_in_the_header_or_in_the_page(web):
    _, headers, body = split(fetch(web, "/~/charset/windows-1251"))
    assert headers["Content-Type"] == "text/html; charset=windows-1251"
    assert "привет" in body.decode("windows-1251")
    _, headers, body = split(fetch(web, "/~/charset/shift_jis?in=meta"))
    assert headers["Content-Type"] == "text/html"
    assert "日本語" in body.decode("shift_jis")
    assert b'<meta charset="no-such">' in fetch(web, "/~/charset/no-such?in=meta")


@pytest.mark.parametrize("name", list(RAW))
def test_raw_answers_are_sent_byte_for_byte(web, name):
    assert fetch(web, f"/~/raw/{name}") == RAW[name][1]


def test_the_index_lists_every_path_with_an_outcome_of_the_closed_list(web):
    body = split(fetch(web, "/~/"))[2].decode()
    for path, _, outcome in table():
        assert f'href="{path}"' in body
        assert outcome_named(outcome)
    assert split(fetch(web, "/~/no-such-thing"))[0] == 404


@pytest.mark.parametrize(
    "start",
    [
        "/~/trap/calendar/2026/01/01",
        "/~/trap/deep/",
        "/~/trap/session?sid=0",
        "/~/trap/facets?color=red",
        "/~/trap/repeat/",
        "/~/trap/growing?next=1",
        "/~/trap/maze/start.html",
    ],
)
def test_a_trap_leads_to_more_of_its_kind_without_end(web, start):
    seen, waiting = set(), [f"http://127.0.0.1{start}"]
    while waiting and len(seen) < 25:
        url = waiting.pop(0)
        seen.add(url)
        status, _, body = split(fetch(web, url.removeprefix("http://127.0.0.1")))
        assert status == 200
        for part in body.decode().split('href="')[1:]:
            link = urljoin(url, unescape(part.split('"')[0]))
            assert link.startswith(
                url.split("trap/")[0] + "trap/" + start.split("/")[3].split("?")[0]
            )
            if link not in seen and link not in waiting:
                waiting.append(link)
    assert len(seen) == 25
    assert waiting


def test_home_pages_link_into_the_traps_when_asked_to(web):
    host = web.graph().hosts.address(7)
    assert b'href="/~/trap/"' in fetch(web, "/", host=host)
    assert b"/~/trap/calendar/" in fetch(web, "/~/trap/")


def robots(web, number):
    return web.graph().hosts.address(number), "/robots.txt"


def test_robots_that_never_answers(web):
    host, target = robots(web, 0)
    with asking(web, target, host=host) as client:
        assert read_for(client, 0.3) == (b"", False)


def test_robots_that_is_huge_has_its_trap_past_512_kib(web):
    host, target = robots(web, 1)
    body = split(fetch(web, target, host=host))[2]
    assert body.startswith(b"User-agent: *\nDisallow: /private/\n")
    assert body.index(b"\nDisallow: /\n") > 524_288 * 2


@pytest.mark.parametrize(("number", "expected"), [(2, 5), (3, 6)])
def test_robots_that_redirects(web, number, expected):
    host, target = robots(web, number)
    hops = 0
    while (answer := split(fetch(web, target, host=host)))[0] == 302:
        target, hops = answer[1]["Location"], hops + 1
    assert hops == expected
    assert b"Disallow: /private/" in answer[2]


def test_robots_that_is_cut_short_reset_or_an_error(web):
    host, target = robots(web, 4)
    _, headers, body = split(fetch(web, target, host=host))
    assert len(body) < int(headers["Content-Length"])
    host, target = robots(web, 5)
    with asking(web, target, host=host) as client, pytest.raises(ConnectionResetError):
        client.recv(10)
    host, target = robots(web, 6)
    assert split(fetch(web, target, host=host))[0] == 500


def test_the_reference_page_lists_every_path_and_robots_variant():
    page = Path(__file__).parents[2] / "docs" / "reference" / "fakeweb.md"
    text = page.read_text(encoding="utf-8")
    for path, what, outcome in table():
        if "/raw/" not in path:
            assert f"| `{path}` | {what} | `{outcome}` |" in text
    for name, (outcome, _) in RAW.items():
        assert f"`{name}` ({outcome})" in text
    for variant in ROBOTS_VARIANTS:
        assert f"| `{variant}` |" in text
