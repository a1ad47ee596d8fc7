"""Operations of the service on a workspace: the catalog and the contents beside it, together.

Contents cannot take part in a transaction of the catalog. So what is made is made in the contents
first, where nobody sees it until the catalog knows of it; and what is removed is taken out of the
catalog first, with a note that its contents are left (see catalog/service_removal.py). Whoever is
killed in between leaves something that clients do not see, and that the next purge removes. While
contents are removed nothing is selected for crawling, so that nothing new goes with the old
(catalog/content_removal.py).
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from gossamer.catalog import (
    service_attributes,
    service_history,
    service_proxies,
    service_purge,
    service_removal,
    service_sites,
    service_urls,
)
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_content import has_left
from gossamer.catalog.service_custom import CustomLimits, custom_query
from gossamer.catalog.service_fetch import fetch_urls, with_attributes
from gossamer.catalog.service_removal import Removal, SiteRemoval
from gossamer.clock import Clock, SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import StorageError, StoreError
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import GENERAL_SITE, ErrorCode, ItemStatus, Operation
from gossamer.objects.extras import CustomRequest, CustomResponse
from gossamer.objects.normal import identified_site
from gossamer.objects.operations import form_of
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.site import Site, SiteCleanup, SiteDelete, SiteFind, SiteStatus, SiteUpdate
from gossamer.objects.url import (
    URL,
    FieldRecalculator,
    URLAge,
    URLCleanup,
    URLDelete,
    URLPurge,
    URLPut,
    URLStatus,
)
from gossamer.service.data_folder import make_data_dir
from gossamer.service.opened_contents import open_contents
from gossamer.service.propagation_desk import HostDesk
from gossamer.service.settings import ServiceSettings
from gossamer.service.url_contents import Handed, UrlContents, handed_over
from gossamer.store.contents import Contents

_LEFT_SITES: Final = 1_000
_SWEPT: Final = 10_000
"""Contents whose space one purge frees; the next one goes on."""


def open_operations(settings: ServiceSettings, clock: Clock | None = None) -> "CatalogOperations":
    """Open the workspace of the settings; several threads and processes may, each for itself."""
    workspace = make_data_dir(settings)
    clock = clock or SystemClock()
    with ExitStack() as closing:
        catalog = ServiceCatalog.open(workspace.catalog, CatalogSettings(), shared=True)
        closing.callback(catalog.close)
        contents = open_contents(settings, closing, clock)
        contents.create_site(GENERAL_SITE)
        return CatalogOperations(catalog, contents, settings, clock, closing.pop_all())


class CatalogOperations:
    """Carries out operations; one thread at a time uses an instance."""

    def __init__(
        self,
        catalog: ServiceCatalog,
        contents: Contents,
        settings: ServiceSettings,
        clock: Clock,
        closing: ExitStack,
    ) -> None:
        self._catalog = catalog
        self._contents = contents
        self._settings = settings
        self._clock = clock
        self._closing = closing
        self._url_contents = UrlContents(catalog, contents)
        self._table: Mapping[Operation, Callable[[Any, float], object]] = {
            Operation.SITE_NEW: self._site_new,
            Operation.SITE_UPDATE: self._site_update,
            Operation.SITE_STATUS: self._site_status,
            Operation.SITE_FIND: self._site_find,
            Operation.SITE_DELETE: self._site_delete,
            Operation.SITE_CLEANUP: self._site_cleanup,
            Operation.URL_NEW: self._url_new,
            Operation.URL_UPDATE: self._changed(service_urls.update_urls),
            Operation.URL_STATUS: self._url_status,
            Operation.URL_DELETE: self._url_delete,
            Operation.URL_CLEANUP: self._url_cleanup,
            Operation.URL_FETCH: self._url_fetch,
            Operation.URL_CONTENT: self._url_contents.read,
            Operation.URL_PUT: self._url_put,
            Operation.URL_PURGE: self._url_purge,
            Operation.URL_AGE: self._url_age,
            Operation.URL_VERIFY: self._looked(service_urls.verify_urls),
            Operation.URL_HISTORY: self._looked(service_history.url_history),
            Operation.URL_STATS: self._looked(service_history.url_stats),
            Operation.FIELD_RECALCULATE: self._field_recalculate,
            Operation.SQL_CUSTOM: self._sql_custom,
            Operation.ATTR_SET: self._changed(service_attributes.set_attributes),
            Operation.ATTR_UPDATE: self._changed(service_attributes.update_attributes),
            Operation.ATTR_DELETE: self._changed(service_attributes.delete_attributes),
            Operation.ATTR_FETCH: self._looked(service_attributes.fetch_attributes),
            Operation.PROXY_NEW: self._changed(service_proxies.new_proxies),
            Operation.PROXY_UPDATE: self._changed(service_proxies.update_proxies),
            Operation.PROXY_DELETE: self._changed(service_proxies.delete_proxies),
            Operation.PROXY_STATUS: self._looked(service_proxies.proxy_status),
            Operation.PROXY_FIND: self._looked(service_proxies.find_proxies),
            **(HostDesk(catalog, settings).operations if settings.peers.hosts else {}),
        }

    def close(self) -> None:
        """Give back what was opened."""
        self._closing.close()

    def execute(self, operation: Operation, payload: object) -> object:
        """Do it, and return the answer object.

        What is wrong with a request is told in the answer if that is a GeneralResponse, and raised
        otherwise; either way nothing has changed.
        """
        form = form_of(operation)
        function = self._table.get(operation)
        if function is None:
            raise UnsupportedError(operation.name, "", "this operation is carried out elsewhere")
        try:
            return function(_shaped(operation, payload), self._clock.time())
        except (ObjectError, StorageError) as error:
            if form.answer is not GeneralResponse:
                raise
            code = int(getattr(error, "code", ErrorCode.SQL))
            return GeneralResponse(error_code=code, error_message=str(error), statuses=[code])

    # ------------------------------------------------------------------------- sites

    def _site_new(self, given: Site, now: float) -> GeneralResponse:
        site = identified_site(given)
        # First: of a site that cannot be made nothing may be left.
        service_sites.check_site(site, now)
        if not service_sites.exists(self._catalog.database, site.id):
            self._make_room(site.id, now)
        service_sites.new_site(self._catalog, site, now)
        return GeneralResponse(statuses=[0])

    def _site_update(self, update: SiteUpdate, now: float) -> GeneralResponse:
        changed = service_sites.update_site(self._catalog, update, now)
        return GeneralResponse(statuses=[0] * changed)

    def _site_status(self, request: SiteStatus, _: float) -> Site:
        return service_sites.site_status(self._catalog.database, request)

    def _site_find(self, request: SiteFind, now: float) -> list[Site]:
        return service_sites.find_sites(self._catalog.database, request, now)

    def _site_delete(self, requests: Sequence[SiteDelete], now: float) -> GeneralResponse:
        removals = service_removal.delete_sites(self._catalog, requests, now)
        for removal in itertools.chain.from_iterable(removals):
            if not removal.delayed:
                self._finish_delete(removal, now)
        named = [request.id for request in requests]
        return _site_answer(
            [site_id if not each else None for site_id, each in zip(named, removals, strict=True)]
        )

    def _site_cleanup(self, requests: Sequence[SiteCleanup], now: float) -> GeneralResponse:
        emptyings = service_removal.empty_sites(self._catalog, requests, now)
        for emptying in emptyings:
            if emptying is not None and not emptying.delayed:
                clear = self._contents.clear_site
                service_removal.empty_left(self._catalog, emptying, now, clear)
                self._contents.sweep()
        named = [request.id for request in requests]
        return _site_answer(
            [
                site_id if each is None else None
                for site_id, each in zip(named, emptyings, strict=True)
            ]
        )

    def _make_room(self, site_id: str, now: float) -> None:
        """Have room for the contents of a site, without what is left of an earlier one."""
        left = service_removal.left_of_site(self._catalog.database, site_id)
        if left is not None:
            self._finish_delete(left, now)
        self._contents.create_site(site_id)

    def _finish_delete(self, removal: SiteRemoval, now: float) -> None:
        drop = self._contents.drop_site
        service_removal.delete_left_of_site(self._catalog, removal, now, drop)
        self._contents.sweep()

    # -------------------------------------------------------------------------- URLs

    def _url_new(self, urls: Sequence[URL], now: float) -> GeneralResponse:
        database = self._catalog.database
        handed = [None if url.url_put is None else handed_over(url.url_put, now) for url in urls]
        for site_id in service_urls.sites_to_make(database, urls):
            self._make_room(site_id, now)
        brought: list[tuple[int, tuple[str, str], Handed]] = []
        if any(handed):
            places = service_urls.destinations(database, urls)
            for number, (place, content) in enumerate(zip(places, handed, strict=True)):
                if place is not None and content is not None:
                    brought.append((number, place, content))
        in_danger = {place for _, place, _ in brought if has_left(database, *place)}
        for number, place, content in brought:
            # Before the URLs are known: a content that nobody can ask for yet does no harm.
            self._url_contents.take(*place, content, urls[number].url)
        statuses = service_urls.new_urls(self._catalog, urls, now)
        for number, place, content in brought:
            if statuses[number] is ItemStatus.FAILED:
                # The site had no room for the URL, so that nobody would ever remove its content.
                self._contents.delete(*place)
            elif place in in_danger:
                # A purge may have taken it for what an earlier one has left.
                self._url_contents.take(*place, content, urls[number].url)
        return GeneralResponse(statuses=[int(status) for status in statuses])

    def _url_status(self, requests: Sequence[URLStatus], _: float) -> list[URL]:
        return service_urls.url_status(self._catalog.database, requests)

    def _url_delete(self, requests: Sequence[URLDelete], now: float) -> GeneralResponse:
        removals = service_removal.delete_urls(self._catalog, requests, now)
        delete = self._contents.delete
        service_removal.delete_left(self._catalog, _at_once(removals), now, delete)
        return GeneralResponse(statuses=[removal is not None for removal in removals])

    def _url_cleanup(self, requests: Sequence[URLCleanup], now: float) -> GeneralResponse:
        removals = service_removal.clean_urls(self._catalog, requests, now)
        delete = self._contents.delete
        service_removal.clean_left(self._catalog, _at_once(removals), now, delete)
        return GeneralResponse(statuses=[removal is not None for removal in removals])

    def _url_age(self, requests: Sequence[URLAge], now: float) -> GeneralResponse:
        aged = service_removal.age_urls(self._catalog, requests, now)
        removals = itertools.chain.from_iterable(aged)
        delete = self._contents.delete
        service_removal.delete_left(self._catalog, _at_once(removals), now, delete)
        return GeneralResponse(
            statuses=[sum(len(removal.doc_ids) for removal in removals) for removals in aged]
        )

    def _url_purge(self, requests: Sequence[URLPurge], now: float) -> GeneralResponse:
        statuses: list[object] = []
        refused: list[StoreError] = []
        for request in requests:
            self._purge_sites(request, now)
            for site_id in service_purge.purged_sites(self._catalog.database, request):
                try:
                    statuses.append([site_id, self._purge(site_id, request, now)])
                except StoreError as error:
                    # What is damaged stays so; the sites behind it must not wait for ever.
                    refused.append(error)
        for refusal in refused:
            raise refusal
        return GeneralResponse(statuses=statuses)

    def _purge(self, site_id: str, request: URLPurge, now: float) -> int:
        found = service_purge.purgeable(self._catalog.database, site_id, request, now)
        delete = self._contents.delete
        return sum(service_purge.purge(self._catalog, each, now, delete) for each in found)

    def _purge_sites(self, request: URLPurge, now: float) -> None:
        """Finish the deletion of sites: of the one that is named, or of all."""
        database = self._catalog.database
        if request.site_id is None:
            left = service_removal.left_of_sites(database, _LEFT_SITES)
        else:
            one = service_removal.left_of_site(database, request.site_id)
            left = [] if one is None else [one]
        for removal in left:
            self._finish_delete(removal, now)
        self._contents.sweep(_SWEPT)

    def _url_fetch(self, requests: Sequence[URLFetch], now: float) -> list[URL]:
        urls: list[URL] = []
        for request in requests:
            found = fetch_urls(self._catalog, request, now)
            urls += with_attributes(self._catalog, found, request.attribute_names)
        return urls

    def _url_put(self, requests: Sequence[URLPut], now: float) -> GeneralResponse:
        return GeneralResponse(statuses=list(self._url_contents.put(requests, now)))

    def _field_recalculate(
        self, requests: Sequence[FieldRecalculator], now: float
    ) -> GeneralResponse:
        done = [service_urls.recalculate(self._catalog, request, now) for request in requests]
        return GeneralResponse(statuses=list(done))

    def _sql_custom(self, request: CustomRequest, _: float) -> CustomResponse:
        sql = self._settings.sql
        if not sql.sql_custom:
            raise UnsupportedError("CustomRequest", "", "sql_custom is switched off in [SQL]")
        limits = CustomLimits(sql.timeout_seconds, sql.max_rows)
        return custom_query(self._catalog.database, request, limits)

    def _changed(self, function: Callable[..., Iterable[object]]) -> Callable[..., object]:
        """Return an operation of one function that changes the catalog, item by item."""

        def run(requests: Sequence[object], now: float) -> GeneralResponse:
            return GeneralResponse(
                statuses=[_plain(each) for each in function(self._catalog, requests, now)]
            )

        return run

    def _looked(self, function: Callable[..., object]) -> Callable[..., object]:
        """Return an operation of one function that only reads."""

        def run(requests: Sequence[object], now: float) -> object:
            return function(self._catalog.database, requests, now)

        return run


def _at_once(removals: Iterable[Removal | None]) -> list[Removal]:
    """Return whose contents are removed now, and not left to the purge."""
    return [each for each in removals if each is not None and not each.delayed]


def _plain(status: object) -> object:
    return int(status) if isinstance(status, ItemStatus) else status


def _shaped(operation: Operation, payload: object) -> object:
    """Return a payload as its operation takes it; ObjectError if it is of another kind."""
    form = form_of(operation)
    items = payload if isinstance(payload, list | tuple) else [payload]
    if not all(isinstance(item, form.request) for item in items):
        expected = f"{form.request.__name__} is expected"
        raise ObjectError(operation.name, "", f"a list of {expected}" if form.is_list else expected)
    if form.is_list:
        return items
    if len(items) != 1:
        raise ObjectError(operation.name, "", f"one {form.request.__name__} is expected")
    return items[0]


def _site_answer(missing: Sequence[str | None]) -> GeneralResponse:
    """Return how it went with sites, each given by its id if it was not there."""
    statuses = [int(ErrorCode.SITE if site_id else ErrorCode.OK) for site_id in missing]
    absent = [site_id for site_id in missing if site_id]
    if not absent:
        return GeneralResponse(statuses=[*statuses])
    return GeneralResponse(
        error_code=int(ErrorCode.SITE),
        error_message=f"site id not found: {', '.join(absent)}",
        statuses=[*statuses],
    )
