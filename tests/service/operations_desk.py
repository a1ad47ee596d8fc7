"""Operations over a workspace of each storage type, with shortcuts for tests."""

import base64
import sqlite3
from contextlib import closing
from pathlib import Path

from gossamer.catalog.service_counters import wrong_counters
from gossamer.clock import ManualClock
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.content import URLContentRequest, URLContentResponse
from gossamer.objects.enumerations import ContentKind, Operation
from gossamer.objects.normal import url_md5
from gossamer.objects.site import Site, SiteStatus
from gossamer.objects.url import URL, URLPut, URLStatus
from gossamer.service.catalog_operations import open_operations
from gossamer.service.settings import ServiceSettings, SqlSettings, StorageSettings

ROOT = "http://a.example/"
SITE = url_md5(ROOT)
PARENT = "ab" * 16


def settings_of(folder: Path, storage: int = 0, **sql) -> ServiceSettings:
    return ServiceSettings(
        folder=folder,
        storage=StorageSettings(content_storage_type=storage),
        sql=SqlSettings(**sql),
    )


class Desk:
    """Operations, opened as the daemon opens them."""

    def __init__(self, folder: Path, storage: int = 0, **sql) -> None:
        self.settings = settings_of(folder, storage, **sql)
        self.storage = storage
        self.clock = ManualClock()
        self.operations = open_operations(self.settings, self.clock)
        self.folder = self.settings.data_dir

    def do(self, name: str, payload: object) -> object:
        return self.operations.execute(Operation[name], payload)

    def general(self, name: str, payload: object) -> GeneralResponse:
        answer = self.do(name, payload)
        assert isinstance(answer, GeneralResponse)
        return answer

    def statuses(self, name: str, payload: object) -> list[object]:
        answer = self.general(name, payload)
        assert (answer.error_code, answer.error_message) == (0, "")
        return answer.statuses

    def site(self, *urls: str, **fields) -> str:
        roots = list(urls or (ROOT,))
        assert self.statuses("SITE_NEW", Site(urls=roots, **fields)) == [0]
        return fields.get("id") or url_md5(roots[0])

    def add(self, site_id: str, *urls: str, **fields) -> None:
        made = [URL(url=url, site_id=site_id, **{"parent_md5": PARENT, **fields}) for url in urls]
        assert self.statuses("URL_NEW", made) == [0] * len(urls)

    def status(self, site_id: str = SITE) -> Site:
        site = self.do("SITE_STATUS", SiteStatus(id=site_id))
        assert isinstance(site, Site)
        return site

    def url(self, site_id: str, url: str) -> URL | None:
        found = self.do("URL_STATUS", [URLStatus(url=url, site_id=site_id)])
        assert isinstance(found, list)
        return found[0] if found else None

    def put(self, site_id: str, url: str, data: bytes, kind: ContentKind = ContentKind.RAW) -> None:
        text = base64.b64encode(data).decode()
        if kind is ContentKind.PROCESSOR:
            text = data.decode()
        put = URLPut(
            site_id=site_id, url_md5=url_md5(url), content_type=int(kind), put_dict={"data": text}
        )
        assert self.statuses("URL_PUT", [put]) == [True]
        self.clock.advance(1)

    def content(self, site_id: str, url: str, mask: int = 3, **fields) -> URLContentResponse:
        request = URLContentRequest(
            site_id=site_id, url_md5=url_md5(url), content_type_mask=mask, **fields
        )
        answers = self.do("URL_CONTENT", [request])
        assert isinstance(answers, list)
        assert len(answers) == 1
        return answers[0]

    def raw(self, site_id: str, url: str) -> list[bytes]:
        """What is stored, whatever the catalog says."""
        versions = self.operations._contents.raw(site_id, url_md5(url), "all")
        return [version.body for version in versions]

    def processed(self, site_id: str, url: str) -> bool:
        return self.operations._contents.processed(site_id, url_md5(url)) is not None

    def rows(self, query: str, parameters: tuple = ()) -> list[tuple]:
        with closing(sqlite3.connect(self.folder / "catalog.db")) as connection:
            return connection.execute(query, parameters).fetchall()

    def deleted(self, site_id: str) -> dict[str, int]:
        """Deleted URLs on record, and whether contents are kept (1) or gone (2)."""
        return dict(self.rows(_DELETED, (site_id,)))

    def urls(self, site_id: str) -> list[str]:
        return [row[0] for row in self.rows(_URLS, (site_id,))]

    def is_sound(self) -> bool:
        catalog = self.operations._catalog
        assert wrong_counters(catalog.database) == []
        assert catalog.check() == []
        return True

    def close(self) -> None:
        self.operations.close()


_URLS = (
    "SELECT u.url FROM service_site s JOIN member m ON m.set_id = s.set_id "
    "JOIN url u ON u.doc_id = m.doc_id WHERE s.id = ? ORDER BY u.url"
)
_DELETED = (
    "SELECT u.url, t.state FROM service_site s JOIN url_set t ON t.site_id = s.site_id "
    "JOIN member m ON m.set_id = t.set_id JOIN url u ON u.doc_id = m.doc_id "
    "WHERE s.id = ? AND t.state > 0 ORDER BY u.url"
)
