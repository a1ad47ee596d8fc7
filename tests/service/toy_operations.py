"""Operations for tests of the wire and the threads: sites and URLs as JSON in one small database.

The daemon loads it by name, in a process of its own. A few ids make it misbehave on purpose.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.errors import StorageError
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.batch import Batch
from gossamer.objects.coding import decode_object, encode
from gossamer.objects.content import Content, URLContentResponse
from gossamer.objects.enumerations import ErrorCode, Operation, SiteState, URLKey
from gossamer.objects.extras import Attribute, CustomRequest, CustomResponse, Proxy
from gossamer.objects.normal import identified_url, url_md5
from gossamer.objects.operations import form_of
from gossamer.objects.site import Site, SiteFind, SiteStatus, SiteUpdate
from gossamer.objects.url import URL
from gossamer.service.operations import Operations, Periodic, RunBatch
from gossamer.service.settings import ServiceSettings


class ToyOperations:
    """Just enough of every operation to see that request and answer found their way."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._base = sqlite3.connect(folder / "toy.db", timeout=30, isolation_level=None)
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS things (kind, key, value, PRIMARY KEY (kind, key))"
        )

    def close(self) -> None:
        self._base.close()

    def execute(self, operation: Operation, payload: object) -> object:
        match operation:
            case Operation.SITE_NEW:
                return self._site_new(payload)
            case Operation.SITE_UPDATE:
                return self._site_update(payload)
            case Operation.SITE_STATUS:
                return self._site_status(payload)
            case Operation.SITE_FIND:
                return self._site_find(payload)
            case Operation.SITE_DELETE:
                return _general([self._drop("site", item.id) for item in payload])
            case Operation.URL_NEW:
                return _general([self._url_new(item) for item in payload])
            case Operation.URL_STATUS:
                return self._urls([_md5(item) for item in payload])
            case Operation.URL_FETCH:
                return self._all("url", URL)
            case Operation.URL_DELETE:
                return _general([self._drop("url", _md5(item)) for item in payload])
            case Operation.URL_CONTENT:
                return [_content(item.url or "", item.url_md5 or "") for item in payload]
            case Operation.ATTR_SET:
                return _general([self._put("attribute", item.name, item) for item in payload])
            case Operation.ATTR_FETCH:
                return self._all("attribute", Attribute)
            case Operation.PROXY_NEW:
                return _general([self._put("proxy", item.host, item) for item in payload])
            case Operation.PROXY_STATUS | Operation.PROXY_FIND:
                return self._all("proxy", Proxy)
            case Operation.SQL_CUSTOM:
                assert isinstance(payload, CustomRequest)
                return CustomResponse(rid=payload.rid, query=payload.query, result=[[1]])
        count = len(payload) if isinstance(payload, list) else 1
        return [] if form_of(operation).answers_list else _general([True] * count)

    def _site_new(self, site: Site) -> GeneralResponse:
        if self._put("site", site.id, site) == 0:
            return _general([0])
        return GeneralResponse(error_code=ErrorCode.SITE, error_message="duplicate site")

    def _site_update(self, update: SiteUpdate) -> GeneralResponse:
        known = self._get("site", update.id or "")
        if known is None:
            return _general([int(ErrorCode.SITE)])
        site = decode_object(Site, known)
        if update.description is not None:
            site = msgspec.structs.replace(site, description=update.description)
        self._drop("site", site.id)
        self._put("site", site.id, site)
        return _general([0])

    def _site_status(self, status: SiteStatus) -> Site:
        if status.id.startswith("sleep"):
            time.sleep(float(status.id.removeprefix("sleep").replace("_", ".")))
        if status.id == "busy":
            be_busy(self._folder)
        if status.id == "die":
            raise SystemExit("told to die")
        if status.id == "bug":
            raise ValueError("a fault of the program")
        if status.id == "fault":
            raise StorageError("the disk is full")
        known = self._get("site", status.id)
        if known is None:
            return Site(id=status.id, state=SiteState.NOT_FOUND)
        return decode_object(Site, known)

    def _site_find(self, find: SiteFind) -> list[Site]:
        sites = self._all("site", Site)
        return [
            site
            for site in sites
            if not find.url or any(str(root).startswith(find.url) for root in site.urls)
        ]

    def _url_new(self, url: URL) -> int:
        known = identified_url(url)
        return self._put("url", known.url_md5, known)

    def _urls(self, keys: list[str]) -> list[URL]:
        found = [self._get("url", key) for key in keys]
        return [decode_object(URL, value) for value in found if value is not None]

    def _put(self, kind: str, key: str, value: object) -> int:
        """0: inserted; 2: was there."""
        done = self._base.execute(
            "INSERT OR IGNORE INTO things VALUES (?, ?, ?)", (kind, key, encode(value))
        )
        return 0 if done.rowcount else 2

    def _get(self, kind: str, key: str) -> bytes | None:
        row = self._base.execute(
            "SELECT value FROM things WHERE kind = ? AND key = ?", (kind, key)
        ).fetchone()
        return row[0] if row else None

    def _drop(self, kind: str, key: str | None) -> bool:
        done = self._base.execute("DELETE FROM things WHERE kind = ? AND key = ?", (kind, key))
        return done.rowcount > 0

    def _all(self, kind: str, struct: type) -> list:
        rows = self._base.execute(
            "SELECT value FROM things WHERE kind = ? ORDER BY key", (kind,)
        ).fetchall()
        return [decode_object(struct, value) for (value,) in rows]


def be_busy(folder: Path) -> None:
    """Say so by the file `busy`, and go on until the test makes the file `wake`."""
    (folder / "busy").touch()
    while not (folder / "wake").exists():
        time.sleep(0.01)


def open_operations(settings: ServiceSettings) -> ToyOperations:
    return ToyOperations(settings.data_dir)


def open_broken_operations(settings: ServiceSettings) -> ToyOperations:
    raise StorageError(f"cannot open {settings.data_dir}")


def open_periodics(settings: ServiceSettings, operations: Operations) -> list[Periodic]:
    """CRAWLING asks the SitesManager for all sites; FAULTY always fails."""

    def crawl(now: float) -> dict[str, float]:
        sites = operations.execute(Operation.SITE_FIND, SiteFind())
        with (settings.data_dir / "runs.txt").open("a") as file:
            file.write(f"{now} {len(sites)}\n")
        return {"batches_crawl_total": 1, "batches_crawl_queue": len(sites)}

    def close() -> None:
        (settings.data_dir / "closed.txt").touch()

    def fail(now: float) -> dict[str, float]:
        """Fail in turn: with an error, with what is no number, with a bug."""
        match int(now * 1000) % 3:
            case 0:
                raise StorageError("always")
            case 1:
                return {"batches_crawl_total": float("nan")}
        return {"batches_crawl_total": "many"}

    return [
        Periodic("CRAWLING", settings.crawling.period_seconds, crawl, close),
        Periodic("FAULTY", settings.purge.period_seconds, fail),
    ]


def open_batches(settings: ServiceSettings) -> RunBatch:
    def run(batch: Batch, _: Callable[[], bool]) -> Batch:
        if batch.id == 666:
            raise SystemExit("told to die")
        if batch.id == 777:
            be_busy(settings.data_dir)
        items = [
            msgspec.structs.replace(item, url_content_response=_content("", item.url_id))
            for item in batch.items
        ]
        return msgspec.structs.replace(batch, items=items)

    return run


def _general(statuses: list) -> GeneralResponse:
    return GeneralResponse(statuses=statuses)


def _content(url: str, md5: str) -> URLContentResponse:
    return URLContentResponse(url=url, url_md5=md5, raw_contents=[Content(buffer="PGh0bWw+")])


def _md5(item) -> str:
    return item.url if item.url_type is URLKey.MD5 else url_md5(item.url)
