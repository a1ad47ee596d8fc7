"""A workspace with stories whose pages are really stored, and extractors that misbehave on demand.

The functions at the end run inside the processes that extract, under their names.
"""

import hashlib
import os
import random
import re
import signal
import time
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import msgspec

from gossamer.catalog import extractions
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.clock import SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.news import NewsSettings
from gossamer.config.settings import Settings
from gossamer.config.store import StoreSettings
from gossamer.crawl.workspace import Workspace
from gossamer.messages import Fetch, Findings, Found, Visit
from gossamer.outcomes import Outcome, State
from gossamer.parse.article import Article
from gossamer.reports import Hints
from gossamer.store.store import Known
from gossamer.store.warc import WarcStore

NOW = 1_800_000_000.0
RIG = Path(__file__).parent


def settings_of(**news) -> Settings:
    return Settings(news=NewsSettings(**news))


def page_of(text: str) -> bytes:
    return "".join(f"<p>{part}</p>" for part in text.split("\n")).encode()


def story_text(seed: int, words: int = 200) -> str:
    draw = random.Random(seed)
    drawn = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(words)]
    return "\n".join(" ".join(drawn[start : start + 20]) + "." for start in range(0, words, 20))


def fetch_of(doc_id: int, url: str, body: bytes, head: str = "Content-Type: text/html") -> Fetch:
    return Fetch(
        Visit(1, doc_id, "127.0.0.1", url), Outcome.OK, status=200, raw=body,
        head=f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode(), fetched_at=NOW,
    )  # fmt: skip


class Newsroom:
    """Sources, stories and their stored pages in one workspace."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        workspace = Workspace(directory)
        directory.mkdir(exist_ok=True)
        self.archive = workspace.archive
        self.catalog = NewsCatalog.open(workspace.catalog, CatalogSettings(), shared=True)
        self.catalog.begin_run(NOW)
        self.store = WarcStore(workspace.archive, "w1", StoreSettings(), SystemClock())
        self._known: dict[bytes, Known] = {}
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.store.close()
        self.catalog.close()

    def story(
        self,
        body: bytes,
        *,
        source: str = "Gazette",
        title: str = "A title",
        hints: Hints | None = None,
        head: str = "Content-Type: text/html; charset=utf-8",
        content_type: str = "text/html",
        content: str | None = None,
    ) -> int:
        """Fetch and store the page of a new story as the engine does; its extraction is queued."""
        self._number += 1
        url = f"http://press.example/{self._number}"
        source_id = self.catalog.add_source(source, "http://press.example/", NOW)
        md5 = hashlib.md5(url.encode()).digest()
        (doc_id,) = self.catalog.add([Found(url, md5, urlsplit(url).hostname, 0)], NOW)
        (due,) = self.catalog.due(1, 1, NOW)
        assert due.doc_id == doc_id
        fetch = fetch_of(doc_id, url, body, head)
        stored = self.store.append(fetch, known=self._known.get(body))
        self.store.sync()
        self._known.setdefault(body, Known(url, NOW, stored.payload_digest, stored.pointer))
        findings = Findings(
            doc_id, 1, int(Outcome.OK), 200, NOW, 5, content_type=content_type,
            body_bytes=len(body), pointer=None if content else stored.pointer,
        )  # fmt: skip
        self.catalog.commit([Verdict(findings, State.DONE)], NOW)
        with self.catalog.database.writing("enter a story") as connection:
            (fetch_id,) = connection.execute(
                "SELECT last_page FROM url WHERE doc_id = ?", (doc_id,)
            ).fetchone()
            story_id = connection.execute(
                "INSERT INTO story (source_id, doc_id, url, guid, title, title_key, week,"
                " collected_at, hints) VALUES (?, ?, ?, ?, ?, ?, 202622, ?, ?)",
                (
                    source_id, doc_id, url, url, title, url.encode() if title else None, NOW,
                    msgspec.json.encode(hints or Hints()).decode(),
                ),
            ).lastrowid  # fmt: skip
            download_id = connection.execute(
                "INSERT INTO download (type, doc_id, story_id, url, state, made_at, fetch_id,"
                " content) VALUES (1, ?, ?, ?, 2, ?, ?, ?)",
                (doc_id, story_id, url, NOW, fetch_id, content),
            ).lastrowid
            extractions.queue(connection, download_id, story_id, NOW)
        return story_id

    def rows(self, query: str, *values) -> list:
        return self.catalog.database.connection.execute(query, values).fetchall()

    def texts(self) -> dict[int, str]:
        return dict(self.rows("SELECT story_id, text FROM article"))

    def ended(self) -> dict[int, tuple[int, int, str]]:
        """Return state, tries and detail of the job of each story."""
        rows = self.rows("SELECT story_id, state, tries, detail FROM extraction")
        return {story_id: tuple(rest) for story_id, *rest in rows}

    def waiting(self) -> int:
        return extractions.waiting(self.catalog.database)


def children_of(process_id: int) -> list[int]:
    """Return the processes that a process has begun and not yet reaped."""
    listed = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
    return [int(child) for child in listed]


def is_running(process_id: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for(condition, seconds: float = 60.0):
    """Wait until something holds, and return it; fail if it never does."""
    give_up = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < give_up, "what was waited for did not come"
        time.sleep(0.02)
    return result


# What runs inside the processes that extract.


def paragraphs(html, url, *, charset="", hints=None) -> Article:
    """Take the paragraphs of a page, and say where and how."""
    text = "\n".join(re.findall(r"<p>(.*?)</p>", html.decode(charset or "utf-8", "replace")))
    return Article(text=text, how="fast", text_confidence=1.0, title=hints.title, tags=(url,))


def with_process(html, url, **said) -> Article:
    """Say which process has done it."""
    return msgspec.structs.replace(paragraphs(html, url, **said), tags=(str(os.getpid()),))


def misbehaving(html, url, **said) -> Article:
    """Do what the page asks for."""
    if b"HANG" in html:
        while True:
            pass
    if b"DIE ONCE" in html:
        mark = Path(os.environ["EXTRACT_RIG"]) / "died"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    elif b"DIE" in html:
        os.kill(os.getpid(), signal.SIGKILL)
    if b"EXIT" in html:
        os._exit(7)
    if b"RAISE" in html:
        raise ValueError("half \ud800 a character")
    if b"GREED" in html:
        bytearray(4 << 30)
    if b"ODD" in html:
        return Article(
            title="a\ud800b\0c", text="x\udfff", how="fast", published=float("nan"),
            canonical_url="http://press.example/" + "x" * 5_000, authors=("\ud800",) * 99,
        )  # fmt: skip
    return with_process(html, url, **said)


def gated(html, url, **said) -> Article:
    """Say that a page has been begun, and wait until it may be ended."""
    folder = Path(os.environ["EXTRACT_RIG"])
    (folder / f"begun-{os.getpid()}").touch()
    while not (folder / "open").exists():
        time.sleep(0.01)
    return with_process(html, url, **said)


def slow(html, url, **said) -> Article:
    """Take a little while."""
    time.sleep(0.02)
    return paragraphs(html, url, **said)
