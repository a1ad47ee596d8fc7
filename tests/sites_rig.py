"""Sites of the service in a catalog, without a network: a test makes up what visits bring."""

from pathlib import Path
from typing import Any

import msgspec

from gossamer.catalog.catalog import Committed
from gossamer.catalog.discover import discover
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import recount, wrong_counters
from gossamer.catalog.service_rows import KnownSite
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.messages import Due, Findings, Found, Kind, Pointer
from gossamer.outcomes import Outcome, State
from gossamer.reports import PageReport
from gossamer.service.verdict import service_verdict
from gossamer.url.parts import host_of, md5_of
from gossamer.url.plain import KEY_BYTES

NOW = 1_900_000_000.0
NORMAL = 1
_COUNTERS = ("errors", "resources", "error_mask")


class Sites:
    """A catalog, and what happens to it."""

    def __init__(self, directory: Path) -> None:
        self.catalog = ServiceCatalog.open(directory / "catalog.db", CatalogSettings(), shared=True)
        self.now = NOW
        self.catalog.begin_run(self.now)
        self._count = 0
        self.has_odd_counters = False
        """Whether the test has set counters or rows by hand."""

    def site(self, *roots: str, **fields: Any) -> int:
        """Make a site with these root URLs; return its set of URLs."""
        self._count += 1
        number = self._count
        set_id = 100 + number
        values = {"site_id": number, "id": f"{number:032x}", "set_id": set_id, "cdate": self.now}
        values |= {"request_delay": 0, **fields}
        with self.catalog.changing("make a site", self.now) as (connection, memory, tally):
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            connection.execute(
                f"INSERT INTO service_site ({names}) VALUES ({marks})", tuple(values.values())
            )
            connection.execute(
                "INSERT INTO url_set (set_id, site_id, made_at) VALUES (?, ?, 0)", (set_id, number)
            )
            found = [
                (
                    Found(url, md5_of(url), host_of(url), 0, int(Kind.PAGE), int(State.EXCLUDED)),
                    None,
                )
                for url in roots
            ]
            discover(connection, memory, tally, found, self.now)
            for url in roots:
                connection.execute(
                    "INSERT INTO member (set_id, doc_id, cdate, udate) "
                    "SELECT ?, doc_id, 0, 0 FROM url WHERE md5 = ?",
                    (set_id, md5_of(url)),
                )
            recount(connection, KnownSite(number, set_id))
            given = {name: value for name, value in fields.items() if name in _COUNTERS}
            for name, value in given.items():
                connection.execute(
                    f"UPDATE service_site SET {name} = ? WHERE site_id = ?", (value, number)
                )
        return set_id

    def filter(self, set_id: int, pattern: str, action: int, mode: int = 0) -> None:
        """Give a site a filter."""
        self._add(
            "INSERT INTO service_filter (site_id, pattern, action, type, mode, cdate) "
            "VALUES (?, ?, ?, ?, ?, 0)",
            (set_id - 100, pattern, action, int(action > 0), mode),
        )

    def property(self, set_id: int, name: str, value: str) -> None:
        """Give a site a property."""
        self._add(
            "INSERT INTO service_property (site_id, name, value, cdate) VALUES (?, ?, ?, 0)",
            (set_id - 100, name, value),
        )

    def _add(self, sql: str, values: tuple[object, ...]) -> None:
        with self.catalog.changing("change a site", self.now) as (connection, _, _):
            connection.execute(sql, values)

    def make(self, size: int = 10, *, seconds: float = 360.0, max_batches: int = 5) -> list[str]:
        """Make a batch; return the URLs in it."""
        _, items = self.catalog.make_batch(NORMAL, size, self.now, seconds, max_batches)
        return [self.url(doc_id) for _, doc_id in items]

    def url(self, doc_id: int) -> str:
        """Return the text of a URL."""
        return str(self.query("SELECT url FROM url WHERE doc_id = ?", doc_id)[0][0])

    def lease(self, count: int = 100) -> list[Due]:
        """Return what is handed out now."""
        return self.catalog.due(count, 100, self.now)

    def bring(
        self,
        due: Due,
        *links: str,
        status: int = 200,
        outcome: Outcome = Outcome.OK,
        media: tuple[str, ...] = (),
        **more: Any,
    ) -> Findings:
        """Return the findings of a visit."""
        report = PageReport(
            charset="utf-8",
            raw_md5="0" * 32,
            links=links,
            media=media,
            keys=b"".join(md5_of(url)[:KEY_BYTES] for url in (*links, *media)),
        )
        values: dict[str, Any] = {
            "doc_id": due.doc_id,
            "trans_id": 1,
            "outcome": int(outcome),
            "status": status,
            "fetched_at": self.now,
            "milliseconds": 50,
            "tries": due.tries + 1,
            "content_type": "text/html",
            "body_bytes": 1_000 if status == 200 else 0,
            "pointer": Pointer("a.warc.gz", 0, 10) if status == 200 else None,
            "records": (msgspec.json.encode(report).decode(),),
        }
        return Findings(**values | more)

    def redirect(self, due: Due, target: str, status: int = 302) -> Findings:
        """Return the findings of a visit that leads elsewhere."""
        found = Found(target, md5_of(target), host_of(target), due.depth, via=(due.url,))
        return self.bring(due, status=status, redirect_to=target, found=(found,))

    def commit(self, *findings: Findings) -> Committed:
        """Commit what visits brought, judged as the engine judges it."""
        verdicts = [service_verdict(each, Settings(), self.now) for each in findings]
        return self.catalog.commit(verdicts, self.now)

    def crawl(self, *links: str, **more: Any) -> list[str]:
        """Let everything that is handed out now bring the same links; return what that was."""
        batch = self.lease()
        self.commit(*(self.bring(due, *links, **more) for due in batch))
        return [due.url for due in batch]

    def members(self, set_id: int, what: str = "status") -> dict[str, Any]:
        """Return a field of all URLs of a site."""
        rows = self.query(
            f"SELECT url.url, member.{what} FROM member JOIN url USING (doc_id) "
            "WHERE set_id = ? ORDER BY doc_id",
            set_id,
        )
        return dict(rows)

    def field(self, set_id: int, name: str) -> Any:
        """Return a field of a site."""
        return self.query(f"SELECT {name} FROM service_site WHERE set_id = ?", set_id)[0][0]

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows."""
        return self.catalog.database.connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """End; the accounting must be right."""
        assert self.catalog.check() == []
        if not self.has_odd_counters:
            assert wrong_counters(self.catalog.database) == []
        self.catalog.close()
