"""A catalog with stories whose pages wait for their extraction."""

from catalog_rig import NOW, done, found

from gossamer.catalog import extractions
from gossamer.catalog.extractions import ExtractedArticle, Extraction
from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.config.catalog import CatalogSettings

TEXT = "The council has decided. " * 40


class Desk:
    """A catalog with sources and stories, each with the download of its page."""

    def __init__(self, path=":memory:") -> None:
        self.catalog = NewsCatalog.open(path, CatalogSettings())
        self.catalog.begin_run(NOW)
        self.database = self.catalog.database
        self.connection = self.database.connection

    def source(self, name: str) -> int:
        return self.catalog.add_source(name, "http://press.example/", NOW)

    def story(self, source: str = "Gazette", *, title: str = "A title", hints: str = "{}") -> int:
        """Enter a story; it has a title key only if it has a title."""
        number = self.connection.execute("SELECT count(*) FROM story").fetchone()[0] + 1
        (doc_id,) = self.catalog.add([found(f"http://press.example/{number}")], NOW)
        cursor = self.connection.execute(
            "INSERT INTO story (source_id, doc_id, url, guid, title, title_key, week, collected_at,"
            " hints) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.source(source), doc_id, f"http://press.example/{number}", str(number),
                title or "(no title)", f"{title} {number}".encode() if title else None, 202622,
                NOW, hints,
            ),
        )  # fmt: skip
        return cursor.lastrowid

    def download(self, story_id: int, **columns) -> int:
        """End a download of a story and queue its extraction."""
        (doc_id,) = self.connection.execute(
            "SELECT doc_id FROM story WHERE story_id = ?", (story_id,)
        ).fetchone()
        values = {
            "type": 1, "doc_id": doc_id, "story_id": story_id, "url": "http://press.example/",
            "state": 2, "made_at": NOW,
        } | columns  # fmt: skip
        cursor = self.connection.execute(
            f"INSERT INTO download ({','.join(values)}) VALUES ({','.join('?' * len(values))})",
            tuple(values.values()),
        )
        extractions.queue(self.connection, cursor.lastrowid, story_id, NOW)
        return cursor.lastrowid

    def fetched(self, story_id: int, **findings) -> int:
        """Let the page of a story be fetched and stored; return the number of the fetch."""
        leased = self.catalog.due(100, 100, NOW)
        self.catalog.commit([done(due, **findings) for due in leased], NOW)
        return self.connection.execute(
            "SELECT last_page FROM url JOIN story USING (doc_id) WHERE story_id = ?", (story_id,)
        ).fetchone()[0]

    def finish(self, *results: Extraction, **options) -> tuple[int, int]:
        return extractions.finish(self.database, results, NOW + 5, **options)

    def one(self, query: str, *values):
        return self.connection.execute(query, values).fetchone()

    def jobs(self) -> list[int]:
        return [job.download_id for job in extractions.jobs(self.database, 1_000)]

    def groups(self) -> dict[int, int | None]:
        return dict(self.connection.execute("SELECT story_id, group_id FROM story"))


def article(**fields) -> ExtractedArticle:
    return ExtractedArticle(**({"text": TEXT, "how": "fast", "confidence": 0.9} | fields))


def bands(desk: Desk) -> set[tuple[int, int]]:
    return set(desk.connection.execute("SELECT band, story_id FROM article_band"))


def model_bands(fingerprints: dict[int, int | None]) -> set[tuple[int, int]]:
    return {
        (place * 65_536 + (value >> (16 * place)) % 65_536, story)
        for story, value in fingerprints.items()
        if value is not None
        for place in range(4)
    }
