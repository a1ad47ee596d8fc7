"""Sites by lot as a catalog would show them, the walk over them, and the same walk spelled out."""

from collections.abc import Iterator
from random import Random

from gossamer.catalog.catalog import Surveyed
from gossamer.messages import Kind
from gossamer.outcomes import Outcome, State
from gossamer.site.closure import Closure, Names, Reach, closure, key_of
from gossamer.site.notes import Notes

START = "http://a.test/0"


class MadeSite:
    """A site of so many pages: with copies, redirects, refusals, sitemaps and strangers."""

    def __init__(self, random: Random, pages: int) -> None:
        self.urls = [f"http://a.test/{number}" for number in range(pages)]
        self.links = {url: random.choices(self.urls, k=random.randrange(6)) for url in self.urls}
        self.sitemaps = {url for url in self.urls[1:] if random.random() < 0.05}
        self.rows = {url: self._row(random, url) for url in self.urls}

    def _row(self, random: Random, url: str) -> Surveyed:
        keys = [*map(key_of, self.links[url]), b"stranger"]
        random.shuffle(keys)
        is_redirect = random.random() < 0.1
        elsewhere = random.choice([*self.urls, "http://b.test/"])
        return Surveyed(
            doc_id=self.urls.index(url),
            state=int(State.DONE if random.random() < 0.9 or url == START else State.PENDING),
            outcome=int(Outcome.OK),
            detail="",
            status=301 if is_redirect else 200,
            milliseconds=1,
            content_type="application/xml" if url in self.sitemaps else "text/html",
            body_bytes=0 if is_redirect else 10,
            checksum=bytes([random.randrange(3 * len(self.urls))]) * 8,
            signed_simhash=None,
            redirect_to=elsewhere if is_redirect else None,
            title="",
            targets=b"".join(keys),
            record='{"nofollow":true}' if random.random() < 0.1 else "",
        )

    def known(self) -> Iterator[list[tuple[int, bytes, str, int]]]:
        rows = [
            (number, key_of(url), url, int(Kind.SITEMAP if url in self.sitemaps else Kind.PAGE))
            for number, url in enumerate(self.urls)
        ]
        yield from (rows[start : start + 7] for start in range(0, len(rows), 7))

    def surveyed(self, doc_id: int) -> Surveyed:
        return self.rows[self.urls[doc_id]]

    def surveyed_all(self, doc_ids) -> dict[int, Surveyed]:
        return {doc_id: self.surveyed(doc_id) for doc_id in doc_ids}

    def targets(self, url: str) -> list[str]:
        by_key = {key_of(each): each for each in self.urls}
        keys = self.rows[url].targets
        each = (keys[at : at + 8] for at in range(0, len(keys), 8))
        return [by_key[key] for key in each if key in by_key]


def walked(site: MadeSite) -> tuple[list[object], Closure]:
    """Return what a walk tells of the pages, in its order, and what it found."""
    told: list[object] = []
    names = Names(site)
    found = closure(
        site,
        Notes(),
        names,
        START,
        Reach(),
        lambda pages: told.extend(
            (met.url, met.parent, met.depth, targets) for met, _, targets in pages
        ),
    )
    return told, found


def spelled_out(site: MadeSite) -> tuple[list[object], dict[str, str]]:
    """Do the same with lists and sets of URLs, page by page; return the copies, too."""
    told: list[object] = []
    met: set[str] = set()
    first: dict[bytes, str] = {}
    copies: dict[str, str] = {}
    read = {url for url in site.sitemaps if site.rows[url].state == State.DONE}
    in_sitemaps = {target for url in read for target in site.targets(url)}

    def walk(starts: list[str]) -> None:
        level: list[tuple[str, str | None]] = []
        depth = 0

        def lead(parent: str | None, urls: list[str], into: list[tuple[str, str | None]]) -> None:
            for url in urls:
                if url in site.rows and url not in met:
                    met.add(url)
                    into.append((url, parent))

        lead(None, starts, level)
        while level:
            below: list[tuple[str, str | None]] = []
            for url, parent in level:  # which grows by the targets of redirects
                row = site.rows[url]
                if row.state != State.DONE:
                    continue
                targets = [] if url in read else site.targets(url)
                told.append((url, parent, depth, targets))
                if row.redirect_to is not None:
                    lead(url, [row.redirect_to], level)
                original = first.setdefault(row.checksum or b"", url) if row.body_bytes else url
                if original != url:
                    copies[url] = original
                elif not row.record:
                    lead(url, targets, below)
            level, depth = below, depth + 1

    walk([START])
    walk(sorted(in_sitemaps))
    return told, copies
