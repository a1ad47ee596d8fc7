"""A real workspace, made by the rooms themselves, with pages that try to do harm."""

import gzip
import hashlib
from pathlib import Path

from gossamer.catalog.catalog import HostClock, TrapCount, Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock
from gossamer.config.settings import Settings
from gossamer.messages import Fetch, Findings, Found, Visit
from gossamer.outcomes import Outcome, State
from gossamer.store.warc import WarcStore
from gossamer.url.parts import host_of, md5_of

NOW = 1_780_000_000.0
HOME = "http://site.example/"
ABOUT = "http://site.example/about"
COPY = "http://site.example/copy"
GONE = "http://site.example/gone"
SECRET = "http://site.example/secret"
LATER = "http://site.example/later"
HOSTILE_TITLE = '=cmd()\x1b[31m"red"\r\nnext\u202egnp\u2028\x7f'
HOME_BODY = b"<title>home</title>\x1b[2Jcleared\n"


def found(url: str, depth: int = 1, **fields: object) -> Found:
    return Found(url=url, md5=md5_of(url), host=host_of(url), depth=depth, **fields)


def make_workspace(folder: Path) -> Path:
    settings = Settings()
    folder.mkdir(mode=0o700, exist_ok=True)
    store = WarcStore(folder / "archive", "w0", settings.store, ManualClock(NOW))
    with SqliteCatalog.open(folder / "catalog.db", settings.catalog) as catalog:
        catalog.begin_run(NOW)
        catalog.add([found(HOME, 0)], NOW)
        links = (
            found(ABOUT),
            found(COPY),
            found(GONE),
            found(LATER),
            found(SECRET, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_ROBOTS)),
        )
        pages = {HOME: HOME_BODY, ABOUT: b"<p>same</p>", COPY: b"<p>same</p>", GONE: b"gone"}
        for round_ in range(2):
            for due in catalog.due(10, 10, NOW):
                if due.url not in pages:
                    catalog.release([due.doc_id], NOW)
                    continue
                findings = fetched(store, due, pages[due.url], links if round_ == 0 else ())
                state = State.FAILED if findings.status == 404 else State.DONE
                catalog.commit([Verdict(findings, state)], NOW)
        catalog.commit(
            [],
            NOW,
            hosts=[
                HostClock(
                    host="site.example",
                    next_allowed_at=NOW,
                    parked_until=NOW + 1e9,
                    parked_reason="net.refused\x1b[1m",
                    failures_in_a_row=2,
                )
            ],
            traps=[TrapCount("site.example", "/cal/{n}", 5001, "calendar-like: too many")],
        )
        catalog.end_run(NOW + 10)
    store.close()
    return folder


def fetched(store: WarcStore, due, body: bytes, links: tuple[Found, ...]) -> Findings:
    gone = due.url == GONE
    raw = gzip.compress(body) if due.url == HOME else body
    coding = b"Content-Encoding: gzip\r\n" if due.url == HOME else b""
    status = b"404 Not Found" if gone else b"200 OK"
    head = (
        b"HTTP/1.1 "
        + status
        + b"\r\nContent-Type: text/html\r\n"
        + coding
        + b"X-Odd: \x1b[5m\r\n\r\n"
    )
    outcome = Outcome.HTTP_4XX if gone else Outcome.OK
    fetch = Fetch(
        visit=Visit(1, due.doc_id, "192.0.2.1", due.url),
        outcome=outcome,
        status=404 if gone else 200,
        request_head=b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n",
        head=head,
        headers=(("content-type", "text/html"),),
        raw=raw,
        body=body,
        fetched_at=NOW + due.doc_id,
        milliseconds=12,
    )
    stored = store.append(fetch)
    store.sync()
    return Findings(
        doc_id=due.doc_id,
        trans_id=1,
        outcome=int(outcome),
        status=fetch.status,
        fetched_at=fetch.fetched_at,
        milliseconds=12,
        content_type="text/html",
        body_bytes=len(body),
        wire_bytes=len(raw),
        checksum=hashlib.md5(body).digest(),
        pointer=stored.pointer,
        title=HOSTILE_TITLE if due.url == HOME else "plain",
        detail="404 \x1b[0m" if gone else "",
        targets=b"".join(link.md5[:8] for link in links),
        found=links,
        payload_digest=stored.payload_digest,
    )
