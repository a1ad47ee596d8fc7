"""The store server does what the documents say, for a Spider that knows nothing but them."""

import fcntl
import json
import socket
import subprocess
import sys
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
    add,
    assert_sound,
    catalog_of,
    full,
    lease,
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
from held_ports import HeldPort


@pytest.fixture(params=[0, 2], ids=["in one process", "with workers"])
def store(request, workspace: Path):
    with StoreServer(workspace, "--workers", str(request.param)) as server:
        yield server


@pytest.fixture
def server(workspace: Path):
    with StoreServer(workspace, "--workers", "1") as server:
        yield server


# ------------------------------------------------------------------- what is made of a result


@pytest.mark.req("S0.3", "S0.25", "S0.30", "S0.31", "S0.43", "S0.45")
def test_a_result_of_the_documents_is_saved_and_understood(store, workspace, gossamer):
    """Status, metrics and document reach the catalog; the raw document reaches the archive."""
    (doc_id,) = leased(workspace, SITE)
    document = links_to("/a", "b?c=d", "http://elsewhere.example/")
    with Spider(store.port, wait_for_greeting=False) as spider:
        spider.send(result(doc_id, SITE, document, milliseconds=1234))
        row = wait_for_outcome(workspace, SITE)
    assert (row.state, row.outcome) == (State.DONE, Outcome.OK)
    assert (row.fetch.status, row.fetch.milliseconds, row.fetch.title) == (200, 1234, "A page")
    assert (row.fetch.content_type, row.fetch.body_bytes) == ("text/html", len(document))
    assert {url: found.state for url, found in rows_of(workspace).items()} == {
        SITE: State.DONE,
        SITE + "a": State.PENDING,
        SITE + "b?c=d": State.PENDING,
        "http://elsewhere.example/": State.EXCLUDED,
    }
    assert store.terminate() == {
        "event": "stopped", "results": 1, "saved": 1, "stale": 0, "unsaved": 0
    }  # fmt: skip
    assert_sound(workspace)
    (resource,) = [found for found in records(workspace) if found[0] == "resource"]
    assert resource[1:] == (SITE, resource[2], document)
    assert resource[2]["content-type"] == "text/html"
    assert gossamer("show", SITE, "--dir", workspace, "--body").stdout == document.decode()
    complaint = gossamer("show", SITE, "--dir", workspace, "--headers", check=2).stderr
    assert "--body" in complaint
    line = gossamer("export", "--dir", workspace, "--format", "cdxj").stdout
    assert json.loads(line.split(" ", 2)[2])["mime"] == "text/html"


@pytest.mark.req("S0.3", "S0.30")
def test_a_result_in_the_full_form_is_archived_as_if_we_had_fetched_it(store, workspace, gossamer):
    """What our own Spider sends carries heads, times and the bytes as they came."""
    (doc_id,) = leased(workspace, SITE)
    body = links_to("/next") + b" " * 5000
    import gzip

    packed = gzip.compress(body)
    with Spider(store.port) as spider:
        spider.send(
            full(doc_id, SITE, body, raw=packed, coding="gzip", fetched_at=1_800_000_000.25)
        )
        spider.wait_until_saved(1)
    row = row_of(workspace, SITE)
    assert (row.state, row.fetch.fetched_at) == (State.DONE, 1_800_000_000.25)
    assert (row.fetch.body_bytes, row.fetch.wire_bytes) == (len(body), len(packed))
    assert row_of(workspace, SITE + "next").state is State.PENDING
    store.terminate()
    assert_sound(workspace)
    (response,) = [found for found in records(workspace) if found[0] == "response"]
    assert response[2]["warc-date"].startswith("2027-01-15T08:00:00.25")
    assert response[2]["warc-ip-address"] == "192.0.2.1"
    assert response[3] == body
    assert (
        "Content-Encoding: gzip" in gossamer("show", SITE, "--dir", workspace, "--headers").stdout
    )
    assert gossamer("show", SITE, "--dir", workspace, "--body").stdout == body.decode()


@pytest.mark.req("S0.32", "S0.44")
def test_the_doc_id_is_four_bytes_in_network_byte_order(server, workspace):
    """Read the other way round, each of these would be another document, or none."""
    urls = many_urls(300)
    ids = leased(workspace, *urls)
    assert {1, 255, 256, 258} < set(ids)
    with Spider(server.port) as spider:
        spider.send(*(result(doc_id, url, HTML) for doc_id, url in zip(ids, urls, strict=True)))
        spider.send(result(2**32 - 1, SITE, HTML))
        spider.wait_until_saved(301)
    rows = rows_of(workspace)
    assert [rows[url].doc_id for url in urls] == ids
    assert {row.state for row in rows.values()} == {State.DONE}
    assert server.terminate()["stale"] == 1


@pytest.mark.req("S0.33", "S0.34", "S0.35")
@pytest.mark.parametrize(
    ("success", "specific", "http", "outcome", "status"),
    [
        (1, 0, 10, Outcome.OK, 200),
        (1, 0, 19, Outcome.OK, 226),
        (1, 11, 34, Outcome.NOT_MODIFIED, 304),
        (0, 12, 64, Outcome.HTTP_4XX, 404),
        (0, 12, 89, Outcome.HTTP_429, 429),
        (0, 12, 95, Outcome.HTTP_4XX, 451),
        (0, 12, 123, Outcome.HTTP_5XX, 503),
        (0, 12, 142, Outcome.HTTP_5XX, 522),
        (0, 12, 253, Outcome.HTTP_4XX, 499),
        (0, 2, 32, Outcome.REDIR_TOO_MANY, 302),
        (0, 3, 0, Outcome.NET_TIMEOUT_TOTAL, 0),
        (0, 4, 0, Outcome.NET_REFUSED, 0),
        (0, 5, 0, Outcome.DNS_SERVFAIL, 0),
        (0, 6, 0, Outcome.TLS_HANDSHAKE, 0),
        (0, 7, 0, Outcome.PROTO_NOT_HTTP, 0),
        (0, 8, 10, Outcome.BODY_TOO_LARGE, 200),
        (0, 9, 10, Outcome.BODY_ENCODING, 200),
        (0, 10, 0, Outcome.POLICY_ROBOTS, 0),
        (0, 255, 0, Outcome.INTERNAL, 0),
    ],
)
def test_codes_become_outcomes(shared, success, specific, http, outcome, status):
    """Success, specific code and HTTP enumeration say together what became of the URL."""
    url, doc_id = shared.next()
    shared.spider.send(
        result(doc_id, url, b"text" * success, success=success, specific=specific, http=http)
    )
    row = wait_for_outcome(shared.workspace, url)
    assert row.outcome is outcome
    assert row.fetch.status == status
    assert row.state is not State.LEASED


@pytest.mark.req("S0.36")
@pytest.mark.parametrize("padding", [0, 1, 2, 77, 255])
def test_what_stands_in_the_padding_of_a_strangers_spider_means_nothing(shared, padding):
    url, doc_id = shared.next()
    shared.spider.send(result(doc_id, url, HTML, padding=padding))
    row = wait_for_outcome(shared.workspace, url)
    assert (row.outcome, row.fetch.title) == (Outcome.OK, "A page")


@pytest.mark.req("S0.37")
@pytest.mark.parametrize("milliseconds", [0, 1, 0x01020304, 2**32 - 1])
def test_milliseconds_are_four_bytes(shared, milliseconds):
    url, doc_id = shared.next()
    shared.spider.send(result(doc_id, url, HTML, milliseconds=milliseconds))
    assert wait_for_outcome(shared.workspace, url).fetch.milliseconds == milliseconds


@pytest.mark.req("S0.38", "S0.39", "S0.40", "S0.41", "S0.42", "S0.45")
def test_fields_of_any_length_leave_the_stream_in_step(shared):
    """URLs of 65,535 bytes, an empty document, no URL at all: the next result is found."""
    long = "http://site.example/" + "x" * (65_535 - 20)
    shared.spider.send(
        result(shared.next()[1], long, HTML),
        result(shared.next()[1], SITE, HTML, new_url=long, http=31, specific=1, success=0),
    )
    url, doc_id = shared.next()
    shared.spider.send(result(doc_id, url, b""))
    row = wait_for_outcome(shared.workspace, url)
    assert (row.outcome, row.fetch.body_bytes) == (Outcome.OK, 0)
    # The URL may be left out: then it is the one that was ordered.
    url, doc_id = shared.next()
    shared.spider.send(result(doc_id, "", HTML))
    assert wait_for_outcome(shared.workspace, url).fetch.title == "A page"
    url, doc_id = shared.next()
    shared.spider.send(result(doc_id, url, b"\0" * 300_000 + b"end"))
    assert wait_for_outcome(shared.workspace, url).fetch.body_bytes == 300_003


class Shared:
    """A store server that many small tests share, and a Spider that is connected to it."""

    def __init__(self, server: StoreServer) -> None:
        self.workspace = server.workspace
        self.spider = Spider(server.port, wait_for_greeting=False)
        urls = many_urls(200)
        self._waiting = list(zip(urls, leased(self.workspace, *urls), strict=True))

    def next(self) -> tuple[str, int]:
        """Return a URL that is leased, and its doc_id."""
        return self._waiting.pop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with StoreServer(tmp_path_factory.mktemp("shared") / "w", "--workers", "1") as server:
        shared = Shared(server)
        yield shared
        shared.spider.close()
        server.terminate()
        assert_sound(shared.workspace)


# -------------------------------------------------------------------------- how it arrives


@pytest.mark.req("S0.31", "S0.44")
def test_a_stream_may_be_split_at_any_byte(server, workspace):
    urls = many_urls(6)
    ids = leased(workspace, *urls)
    forms = (result, full)
    stream = b"".join(
        forms[number % 2](doc_id, url, links_to(f"/from{number}"))
        for number, (doc_id, url) in enumerate(zip(ids, urls, strict=True))
    )
    with Spider(server.port) as spider:
        for position in range(len(stream)):
            spider.socket.send(stream[position : position + 1])
        spider.wait_until_saved(6)
    rows = rows_of(workspace)
    assert all(rows[url].state is State.DONE for url in urls)
    assert all(rows[f"{SITE}from{number}"].state is State.PENDING for number in range(6))
    server.terminate()
    assert_sound(workspace)


def test_many_connections_at_once(workspace):
    """Each is told of its own results only, and all of them end in one catalog."""
    urls = many_urls(600)
    with StoreServer(workspace) as server:
        ids = leased(workspace, *urls)
        spiders = [Spider(server.port) for _ in range(30)]
        pairs = list(zip(ids, urls, strict=True))

        def deliver(number: int) -> None:
            for position, (doc_id, url) in enumerate(pairs[number * 20 : number * 20 + 20]):
                form = full if position % 2 else result
                message = form(doc_id, url, links_to(f"/{doc_id}"))
                spiders[number].send(message[:100])
                time.sleep(0.001)
                spiders[number].send(message[100:])
            spiders[number].wait_until_saved(20)

        threads = [threading.Thread(target=deliver, args=(number,)) for number in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for spider in spiders:
            assert spider.saved == 20
            spider.close()
        assert server.terminate()["saved"] == 600
    rows = rows_of(workspace)
    assert Counter(row.state for row in rows.values()) == {State.DONE: 600, State.PENDING: 600}
    assert_sound(workspace)


def test_a_spider_that_speaks_first_is_never_greeted(server, workspace):
    """It would not read a greeting, and what it does not read would reset its link."""
    (doc_id,) = leased(workspace, SITE)
    with Spider(server.port, wait_for_greeting=False) as spider:
        spider.send(result(doc_id, SITE, HTML))
        wait_for_outcome(workspace, SITE)
        time.sleep(0.3)
        spider.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            spider.socket.recv(1)


def test_the_greeting_can_be_left_out(workspace):
    with (
        StoreServer(workspace, "--set", "store.greeting=false") as server,
        Spider(server.port, wait_for_greeting=False) as spider,
    ):
        (doc_id,) = leased(workspace, SITE)
        time.sleep(0.3)
        spider.send(result(doc_id, SITE, HTML))
        wait_for_outcome(workspace, SITE)
        spider.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            spider.socket.recv(1)


# ------------------------------------------------------------------------------ redirects


@pytest.mark.req("S0.28", "S0.29", "S0.34", "S0.39", "S0.42")
@pytest.mark.parametrize("pause", [0.0, 0.3], ids=["at once", "one after the other"])
@pytest.mark.parametrize("form", ["plain", "full"])
def test_each_hop_of_a_redirect_is_recorded_under_its_own_url(server, workspace, form, pause):
    """All hops carry the doc_id of the order (A16); each is a document of its own (A15)."""
    (doc_id,) = leased(workspace, SITE + "old")
    hops = [SITE + "old", SITE + "newer", SITE + "newest"]
    page = links_to("/behind")
    if form == "plain":
        messages = [
            result(doc_id, hops[0], b"moved", success=0, specific=1, http=31, new_url=hops[1]),
            result(doc_id, hops[1], b"", success=0, specific=1, http=32),
            result(doc_id, hops[2], page),
        ]
    else:
        messages = [
            full(doc_id, hops[0], b"moved", status=301, redirect_to=hops[1]),
            full(doc_id, hops[1], b"", status=302, redirect_to=hops[2]),
            full(doc_id, hops[2], page),
        ]
    with Spider(server.port) as spider:
        for message in messages:
            spider.send(message)
            time.sleep(pause)
        spider.wait_until_saved(3)
    rows = rows_of(workspace)
    assert [rows[hop].fetch.status for hop in hops] == [301, 302, 200]
    assert [rows[hop].state for hop in hops] == [State.DONE] * 3
    assert rows[hops[0]].fetch.redirect_to == hops[1]
    assert len({rows[hop].doc_id for hop in hops}) == 3
    assert rows[hops[0]].doc_id == doc_id
    assert rows[hops[1]].via == (hops[0],)
    assert rows[hops[2]].via == (hops[0], hops[1])
    assert rows[SITE + "behind"].state is State.PENDING
    assert set(rows) == {*hops, SITE + "behind"}
    # Links count from the page that has them; redirects are no links.
    assert [rows[url].depth for url in (*hops, SITE + "behind")] == [0, 0, 0, 1]
    server.terminate()
    assert_sound(workspace)


@pytest.mark.req("S0.28", "S0.29", "S0.42")
def test_a_redirect_that_was_only_reported_is_a_url_like_any_other(workspace):
    """Scope decides; a target that leaves it is known, and excluded."""
    with StoreServer(workspace, "--scope", "domain") as server:
        urls = [SITE + "a", SITE + "b"]
        first, second = leased(workspace, *urls)
        with Spider(server.port) as spider:
            spider.send(
                full(first, urls[0], status=301, redirect_to="http://www.site.example/"),
                result(
                    second, urls[1], success=0, specific=1, http=38,
                    new_url="http://other.example/",
                ),
            )  # fmt: skip
            spider.wait_until_saved(2)
        rows = rows_of(workspace)
    assert rows["http://www.site.example/"].state is State.PENDING
    assert rows["http://www.site.example/"].via == (urls[0],)
    assert rows["http://other.example/"].state is State.EXCLUDED
    assert rows[urls[1]].outcome is Outcome.REDIR_SCOPE


@pytest.mark.req("S0.29")
def test_a_chain_over_many_orders_ends(workspace):
    """No Spider sees more than its own order; the length of the chain is counted here."""
    limit = ("--set", "spider.max_redirects=3")
    with StoreServer(workspace, "--workers", "1", *limit) as server, Spider(server.port) as spider:
        add(workspace, SITE + "0")
        for number in range(4):
            url, target = f"{SITE}{number}", f"{SITE}{number + 1}"
            doc_id = lease(workspace)[url]
            spider.send(full(doc_id, url, status=302, redirect_to=target))
            spider.wait_until_saved(number + 1)
        rows = rows_of(workspace)
    assert rows[SITE + "3"].outcome is Outcome.REDIR_TOO_MANY
    assert SITE + "4" not in rows


@pytest.mark.req("S0.29")
def test_a_hop_that_nobody_may_fetch_is_dropped(server, workspace):
    """A Spider that follows redirects out of the scope adds nothing to the catalog by it."""
    (doc_id,) = leased(workspace, SITE)
    elsewhere = "http://other.example/"
    with Spider(server.port) as spider:
        spider.send(
            full(doc_id, SITE, status=301, redirect_to=elsewhere),
            full(doc_id, elsewhere, links_to("/more")),
            full(doc_id, SITE + "ftp:21", links_to("/more")),
            result(doc_id, "ftp://site.example/", HTML),
            result(doc_id, "http://site.example:22/", HTML),
        )
        spider.wait_until_saved(5)
    rows = rows_of(workspace)
    assert rows[elsewhere].state is State.EXCLUDED
    assert rows[elsewhere].fetch is None
    assert "http://site.example:22/" not in rows


def test_a_hop_to_a_page_that_is_known_changes_nothing(server, workspace):
    first, second = leased(workspace, SITE, SITE + "other")
    with Spider(server.port) as spider:
        spider.send(full(first, SITE, HTML, fetched_at=1e9))
        spider.wait_until_saved(1)
        spider.send(
            full(second, SITE + "other", status=301, redirect_to=SITE),
            full(second, SITE, links_to("/x"), fetched_at=2e9),
        )
        spider.wait_until_saved(3)
    assert row_of(workspace, SITE).fetch.fetched_at == 1e9
    assert row_of(workspace, SITE + "other").fetch.redirect_to == SITE
    assert server.terminate()["stale"] == 1


# ----------------------------------------------------------------------- stale, twice, late


def test_a_result_of_a_document_that_is_not_leased_is_dropped_and_acknowledged(server, workspace):
    add(workspace, SITE)
    with Spider(server.port) as spider:
        spider.send(result(1, SITE, HTML), result(4711, SITE, HTML), result(0, "", b""))
        spider.wait_until_saved(3)
    row = row_of(workspace, SITE)
    assert (row.state, row.fetch) == (State.PENDING, None)
    assert server.terminate()["stale"] == 3


@pytest.mark.parametrize("form", [result, full], ids=["plain", "full"])
def test_a_result_that_is_delivered_twice_counts_once(server, workspace, form):
    """At once, on another link at the same time, and later."""
    (doc_id,) = leased(workspace, SITE)
    message = form(doc_id, SITE, links_to("/a"))
    with Spider(server.port) as spider, Spider(server.port) as other:
        spider.send(message, message)
        other.send(message)
        spider.wait_until_saved(2)
        other.wait_until_saved(1)
        other.send(message)
        other.wait_until_saved(2)
    with catalog_of(workspace) as catalog:
        assert len(catalog.history(doc_id)) == 1
        assert catalog.counts().fetches == 1
        assert catalog.check() == []
    assert server.terminate()["stale"] == 3


def test_a_try_that_is_repeated_after_its_url_became_due_again_counts_once(server, workspace):
    """The Spider did not hear SAVED, and its URL failed and was leased again meanwhile."""
    (doc_id,) = leased(workspace, SITE)
    failed = full(doc_id, SITE, b"busy", outcome=12, status=503, fetched_at=1e9)
    with Spider(server.port) as spider:
        spider.send(failed)
        spider.wait_until_saved(1)
        with catalog_of(workspace) as catalog:
            (due,) = catalog.due(1, 1, time.time() + 100)
        assert due.tries == 1
        spider.send(failed)
        spider.wait_until_saved(2)
        assert row_of(workspace, SITE).state is State.LEASED
        spider.send(full(doc_id, SITE, HTML))
        spider.wait_until_saved(3)
    with catalog_of(workspace) as catalog:
        assert [fetch.status for fetch in catalog.history(doc_id)] == [200, 503]
    assert row_of(workspace, SITE).tries == 2


# ------------------------------------------------------------------------------- the rules


def test_settings_of_scope_and_depth_apply_here(workspace):
    flags = ("--exclude", "/private", "--max-depth", "1")
    with StoreServer(workspace, *flags) as server, Spider(server.port) as spider:
        (doc_id,) = leased(workspace, SITE)
        spider.send(full(doc_id, SITE, links_to("/a", "/private/b")))
        spider.wait_until_saved(1)
        doc_id = lease(workspace)[SITE + "a"]
        spider.send(full(doc_id, SITE + "a", links_to("/deeper")))
        spider.wait_until_saved(2)
        rows = rows_of(workspace)
    assert rows[SITE + "private/b"].outcome is Outcome.POLICY_SCOPE
    assert rows[SITE + "deeper"].outcome is Outcome.POLICY_BUDGET


def test_start_urls_that_are_added_meanwhile_widen_the_scope(server, workspace):
    first, second = leased(workspace, SITE, SITE + "2")
    links = links_to("http://late.example/a")
    with Spider(server.port) as spider:
        spider.send(full(first, SITE, links))
        spider.wait_until_saved(1)
        assert row_of(workspace, "http://late.example/a").state is State.EXCLUDED
        add(workspace, "http://late.example/")
        spider.send(full(second, SITE + "2", links_to("http://late.example/b")))
        spider.wait_until_saved(2)
    assert row_of(workspace, "http://late.example/b").state is State.PENDING


def test_handlers_and_sitemaps_work_here_too(workspace, tmp_path):
    handler = tmp_path / "mine.py"
    handler.write_text("def mine(page):\n    yield {'title': page.title}\n    yield '/made'\n")
    flags = ("--set", f'handlers.use=["{handler}:mine"]')
    sitemap = (
        b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        b"<url><loc>http://site.example/listed</loc></url></urlset>"
    )
    with StoreServer(workspace, *flags) as server, Spider(server.port) as spider:
        first, second = leased(workspace, SITE, SITE + "sitemap.xml")
        spider.send(result(first, SITE, HTML), result(second, SITE + "sitemap.xml", sitemap))
        spider.wait_until_saved(2)
        rows = rows_of(workspace)
        with catalog_of(workspace) as catalog:
            made = dict(catalog.records())
    assert rows[SITE + "made"].state is State.PENDING
    assert rows[SITE + "listed"].state is State.PENDING
    assert made[SITE] == '{"title":"A page"}'


# -------------------------------------------------------------------------- the limit of size


@pytest.mark.req("S0.40", "S0.43")
def test_a_document_over_the_limit_is_cut_and_the_stream_goes_on(workspace):
    limits = ("spider.max_doc_bytes=100000", "spider.max_wire_bytes=100000")
    flags = [word for limit in limits for word in ("--set", limit)]
    urls = many_urls(4)
    with StoreServer(workspace, *flags) as server, Spider(server.port) as spider:
        ids = leased(workspace, *urls)
        beginning = links_to("/early")
        spider.send(
            result(ids[0], urls[0], beginning + b"x" * 150_000),
            result(ids[1], urls[1], beginning + b"x" * 30_000_000),
            full(ids[2], urls[2], beginning + b"x" * 30_000_000),
            full(ids[3], urls[3], HTML),
        )
        spider.wait_until_saved(4)
        assert server.memory_bytes() < 150 << 20
        rows = rows_of(workspace)
        server.terminate()
    for url in urls[:2]:
        assert rows[url].outcome is Outcome.BODY_TOO_LARGE
        assert rows[url].fetch.body_bytes == 100_000
    assert rows[urls[2]].outcome is Outcome.BODY_TOO_LARGE
    assert rows[urls[3]].outcome is Outcome.OK
    assert rows[SITE + "early"].state is State.PENDING
    assert_sound(workspace)
    cut = [found for found in records(workspace) if found[0] == "resource"]
    assert {found[2]["warc-truncated"] for found in cut} == {"length"}


# ------------------------------------------------------------------ who may, and who may not


def test_a_secret_is_asked_for_and_proved(workspace):
    import hashlib
    import hmac

    secret = "correct horse battery staple"
    with StoreServer(workspace, GOSSAMER_SECRET=secret) as server:
        (doc_id,) = leased(workspace, SITE)
        with Spider(server.port, wait_for_greeting=False) as stranger:
            stranger.send(result(doc_id, SITE, HTML))
            stranger.socket.recv(1000)
            assert stranger.is_left()
        with Spider(server.port, wait_for_greeting=False) as friend:
            challenge = friend.socket.makefile("rb").readline()
            theirs, mine = challenge.split()[1], b"ab" * 32
            proof = hmac.new(secret.encode(), b"dial" + theirs + mine, hashlib.sha256)
            friend.send(b"AUTH %b %b\n" % (mine, proof.hexdigest().encode()))
            answer = b""
            while answer.count(b"\n") < 2:
                answer += friend.socket.recv(1000)
            verdict, greeting = answer.splitlines()
            expected = hmac.new(secret.encode(), b"listen" + mine + theirs, hashlib.sha256)
            assert verdict == b"OK " + expected.hexdigest().encode()
            assert greeting == b"STORE gossamer 1"
            friend.send(full(doc_id, SITE, HTML))
            friend.wait_until_saved(1)
        assert server.terminate()["results"] == 1


def test_one_who_never_answers_the_challenge_is_left(workspace):
    with StoreServer(workspace, GOSSAMER_SECRET="x" * 20) as server:
        began = time.monotonic()
        with Spider(server.port, wait_for_greeting=False) as silent:
            silent.socket.recv(1000)
            assert silent.is_left(12)
        assert 4 < time.monotonic() - began < 10


def test_strangers_that_hold_on_do_not_keep_others_out(workspace):
    """Of links that prove nothing, the oldest goes when all places are taken and another calls."""
    settings = ("--set", "wire.max_peers=2")
    with (
        StoreServer(workspace, *settings, GOSSAMER_SECRET="x" * 20) as server,
        Spider(server.port, wait_for_greeting=False) as first,
        Spider(server.port, wait_for_greeting=False) as second,
    ):
        first.socket.recv(1000)
        second.socket.recv(1000)
        with Spider(server.port, wait_for_greeting=False) as third:
            assert third.socket.recv(1000).startswith(b"AUTH ")
            assert first.is_left()
            wait_until(lambda: "others call" in server.log())


def test_it_listens_for_other_machines_only_with_a_secret_or_courage(gossamer, workspace):
    complaint = gossamer("store-server", "--listen", "0.0.0.0:0", "--dir", workspace, check=2)
    assert "--insecure" in complaint.stderr
    assert not (workspace / "catalog.db").exists()


def test_more_peers_than_allowed_are_turned_away(workspace):
    with StoreServer(workspace, "--set", "wire.max_peers=2") as server:
        (doc_id,) = leased(workspace, SITE)
        with Spider(server.port) as one, Spider(server.port) as two:
            with Spider(server.port, wait_for_greeting=False) as three:
                assert three.is_left()
            one.send(full(doc_id, SITE, HTML))
            one.wait_until_saved(1)
            two.close()
            wait_until(lambda: "is gone" in server.log())
            Spider(server.port).close()


def test_two_store_servers_or_a_crawl_cannot_share_a_workspace(server, workspace, gossamer):
    second = gossamer("store-server", "--listen", "127.0.0.1:0", "--dir", workspace, check=3)
    assert f"process {server.pid}" in second.stderr
    assert "store-server" in second.stderr
    gossamer("crawl", SITE, "--dir", workspace, check=3)
    gossamer("status", "--dir", workspace)


def test_a_handler_that_cannot_be_loaded_is_told_once(gossamer, workspace):
    result = gossamer(
        "store-server", "--listen", "127.0.0.1:0", "--dir", workspace,
        "--set", 'handlers.use=["no_such_module:f"]', check=2,
    )  # fmt: skip
    assert "no_such_module" in result.stderr
    assert "Traceback" not in result.stderr


def test_ipv6_and_a_port_that_is_taken(workspace, gossamer):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        result = gossamer("store-server", "--listen", place, "--dir", workspace, check=2)
    assert "cannot listen" in result.stderr
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gossamer.cli", "store-server", "--listen", "[::1]:0"),
            *("--dir", str(workspace), "--workers", "0", "--json"),
        ],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        event = json.loads(process.stdout.readline())
        assert event["host"] == "::1"
        with socket.create_connection(("::1", event["port"]), timeout=5) as link:
            assert link.recv(100) == b"STORE gossamer 1\n"
    finally:
        process.terminate()
        assert process.wait(20) == 0
        process.stdout.close()


def test_nobody_can_call_before_it_is_ready(workspace):
    """A Spider that waits for a greeting in vain would count as delivered what it sends."""
    workspace.mkdir()
    command = [sys.executable, "-m", "gossamer.cli", "store-server", "--dir", str(workspace)]
    with HeldPort() as held, (workspace / "store-workers.lock").open("w") as old_worker:
        fcntl.flock(old_worker, fcntl.LOCK_SH)
        place = ("127.0.0.1", held.port)
        with subprocess.Popen(
            [*command, "--listen", f"127.0.0.1:{held.port}", "--workers", "0", "--json"],
            stdout=subprocess.PIPE,
        ) as process:
            # It has its address when it locks the workspace, and waits for old workers then.
            wait_until((workspace / "store-server.lock").exists)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(place)
            fcntl.flock(old_worker, fcntl.LOCK_UN)
            assert b"listening" in process.stdout.readline()
            socket.create_connection(place).close()
            process.terminate()
            assert process.wait() == 0
