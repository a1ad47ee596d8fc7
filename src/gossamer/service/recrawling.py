"""Periodic processes beside crawling (4b.8): re-crawl, incremental crawling, aging, purge.

Each is a decision and its effect. Nothing here sleeps: a site that is re-crawled waits by the time
in its row, so that a wait outlasts the process.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from msgspec import Struct

from gossamer.catalog.recrawling import (
    AgingSite,
    Phase,
    aging_sites,
    begin_recrawl,
    count_at_work,
    count_due,
    due_sites,
    end_recrawl,
    has_work_left,
    make_incremental_batch,
    renew_urls,
    sites_at_work,
)
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_sites import site_status
from gossamer.config.catalog import CatalogSettings
from gossamer.objects.answers import GeneralResponse
from gossamer.objects.enumerations import DelayedType, DeleteReason, Operation
from gossamer.objects.problems import ObjectError
from gossamer.objects.properties import is_on, value_of
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Property, Site, SiteStatus
from gossamer.objects.url import URLAge, URLDelete, URLPurge
from gossamer.service.data_folder import make_data_dir
from gossamer.service.guard import Guard, Word
from gossamer.service.operations import Operations, Periodic, unanswered
from gossamer.service.settings import RecrawlSettings, ServiceSettings

ROOTS: Final = "ParentMd5 = ''"
"""Which URLs become new, where RECRAWL_WHERE does not say."""
OUTDATED: Final = (
    "ParentMd5 <> '' AND ((Status = 4 AND Crawled = 0) OR (Status = 4 AND ErrorMask > 0) "
    "OR (Status = 7 AND TagsCount = 0))"
)
"""Which URLs are deleted, where RECRAWL_DELETE_WHERE does not say: those that were crawled
elsewhere, failed without being processed, or were processed and are no contents; never roots."""
_DELETED_AT_ONCE: Final = 500
_DELETIONS: Final = 20
_MOST_MINUTES: Final = 525_600


class Rules(Struct, frozen=True):
    """How a site is re-crawled."""

    renew_where: str = ROOTS
    delete_where: str = ""
    """Empty: nothing is deleted."""
    tunes: bool = False
    step_minutes: float = 15
    least_minutes: float = 15
    most_minutes: float = 1_440


def rules_of(properties: Sequence[Property], settings: RecrawlSettings) -> Rules:
    """Return how a site is re-crawled: by its properties, else by the settings."""
    renew = value_of(properties, "RECRAWL_WHERE").strip() or ROOTS
    if is_on(properties, "RECRAWL_NO_ROOT_URLS"):
        renew = f"({renew}) AND ParentMd5 <> ''"
    delete = ""
    if is_on(properties, "RECRAWL_DELETE"):
        delete = value_of(properties, "RECRAWL_DELETE_WHERE").strip() or OUTDATED

    def minutes(name: str, usual: int) -> float:
        text = value_of(properties, name).strip()
        sound = text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= _MOST_MINUTES
        return int(text) if sound else usual

    mode = value_of(properties, "RECRAWL_PERIOD_MODE").strip()
    return Rules(
        renew_where=renew,
        delete_where=delete,
        tunes=mode == "1" if mode else settings.tuning,
        step_minutes=minutes("RECRAWL_PERIOD_STEP", settings.tuning_step_minutes),
        least_minutes=minutes("RECRAWL_PERIOD_MIN", settings.min_period_minutes),
        most_minutes=minutes("RECRAWL_PERIOD_MAX", settings.max_period_minutes),
    )


def next_recrawl(now: float, period_minutes: float) -> float:
    """Return when a site is due again: now, rounded up to the minute, and a period."""
    return math.ceil(now / 60.0) * 60.0 + 60.0 * period_minutes


def tuned_period(period_minutes: float, rules: Rules, *, work_left: bool) -> float:
    """Return the next period: longer where a site did not get ready, shorter where it did.

    Never beyond the limits; a period that was set beyond them goes back step by step.
    """
    if not rules.tunes:
        return period_minutes
    if work_left:
        longer = period_minutes + rules.step_minutes
        return (
            period_minutes
            if period_minutes >= rules.most_minutes
            else min(longer, rules.most_minutes)
        )
    shorter = period_minutes - rules.step_minutes
    return (
        period_minutes
        if period_minutes <= rules.least_minutes
        else max(shorter, rules.least_minutes)
    )


class Recrawling:
    """Has sites crawled again whose time has come."""

    def __init__(
        self, settings: ServiceSettings, operations: Operations, catalog: ServiceCatalog
    ) -> None:
        self._settings = settings.recrawl
        self._operations = operations
        self._catalog = catalog
        self.complaints: list[str] = []
        """Of the last run: conditions of sites that cannot be used."""

    def run(self, now: float) -> Mapping[str, float]:
        """Begin the re-crawl of sites that are due, and go on with those whose wait is over."""
        self.complaints = []
        database = self._catalog.database
        room = max(0, self._settings.max_threads - count_at_work(database))
        due = due_sites(database, now, min(room, self._settings.max_sites))
        begun = sum(self._begin(site_id, now) for site_id in due)
        renewed = deleted = 0
        # Twice, because a site that does not wait goes through both phases at once.
        for _ in range(2):
            for site_id, phase in sites_at_work(database, now):
                if phase is Phase.RENEWED:
                    end_recrawl(self._catalog, site_id, now)
                    continue
                rules = self._rules(self._site(site_id))
                gone, is_rest_left = self._delete(site_id, rules.delete_where)
                deleted += gone
                if not is_rest_left:
                    renewed += self._renew(site_id, rules.renew_where, now)
        return {
            "sites_recrawl_cnt": begun,
            "sites_recrawl_updated_cnt": renewed,
            "sites_recrawl_deleted_cnt": deleted,
            "recrawl_threads": count_at_work(database),
            "recrawl_sites_queue": count_due(database, now),
        }

    def _begin(self, site_id: str, now: float) -> bool:
        site = self._site(site_id)
        rules = self._rules(site)
        left = rules.tunes and has_work_left(self._catalog.database, site_id)
        period = tuned_period(site.recrawl_period, rules, work_left=left)
        return begin_recrawl(
            self._catalog,
            site_id,
            now,
            period_minutes=period,
            next_date=next_recrawl(now, period),
            until=now + self._settings.wait_seconds,
        )

    def _delete(self, site_id: str, where: str) -> tuple[int, bool]:
        """Delete URLs of a site, not too many in one run; return how many, and if more are left."""
        if not where:
            return 0, False
        request = URLDelete(
            site_id=site_id,
            criterions=Criterions(where=where, limit=_DELETED_AT_ONCE),
            delayed_type=DelayedType.DELAYED,
            reason=DeleteReason.RECRAWL,
        )
        before = self._site(site_id).deleted_urls
        more = True
        for _ in range(_DELETIONS):
            answer = self._operations.execute(Operation.URL_DELETE, [request])
            if _fault(answer):
                self.complaints.append(f"site {site_id}: {_fault(answer)}")
                return 0, False
            assert isinstance(answer, GeneralResponse)
            more = bool(answer.statuses[0])
            if not more:
                break
        return self._site(site_id).deleted_urls - before, more

    def _renew(self, site_id: str, where: str, now: float) -> int:
        until = now + self._settings.wait_seconds
        try:
            return renew_urls(self._catalog, site_id, where, now, until)
        except ObjectError as error:
            # A site whose condition cannot be used must not stay locked.
            self.complaints.append(f"site {site_id}: {error}")
            return renew_urls(self._catalog, site_id, "", now, until)

    def _site(self, site_id: str) -> Site:
        lists = ["urls", "filters"]
        return site_status(self._catalog.database, SiteStatus(id=site_id, exclude_list=lists))

    def _rules(self, site: Site) -> Rules:
        return rules_of(site.properties, self._settings)


class Incremental:
    """Has URLs crawled again that have probably changed."""

    def __init__(
        self, settings: ServiceSettings, catalog: ServiceCatalog, guard: Guard | None = None
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self._guard = guard

    def run(self, now: float) -> Mapping[str, float]:
        """Make a batch of them, if there is room for one."""
        if self._guard is not None and self._guard.ask(now) is not Word.GO:
            return {}
        incremental, crawling = self._settings.incremental, self._settings.crawling
        batch_id, items = make_incremental_batch(
            self._catalog,
            size=incremental.max_urls,
            max_depth=incremental.max_depth,
            now=now,
            seconds=crawling.batch_kill_seconds,
            max_batches=crawling.max_batches,
        )
        return {
            "batches_crawl_url_fetch_incr": len(items),
            "batches_crawl_total": float(batch_id > 0),
            "batches_crawl_urls": len(items),
        }


class Aging:
    """Deletes URLs that nobody has seen for too long, site by site."""

    def __init__(
        self, settings: ServiceSettings, operations: Operations, catalog: ServiceCatalog
    ) -> None:
        self._settings = settings.aging
        self._operations = operations
        self._catalog = catalog
        self._after = -1
        self.complaints: list[str] = []

    def run(self, now: float) -> Mapping[str, float]:
        """Go over the next sites; each run begins where the last one ended."""
        del now
        self.complaints = []
        if unanswered(self._operations, Operation.URL_AGE) >= self._settings.max_tasks:
            return {"age_batches_canceled": 1}
        left = self._settings.max_urls
        most = max(1, left // self._settings.max_urls_per_site)
        sites = aging_sites(self._catalog.database, self._after, most)
        counters = {"age_batches_total": 0.0, "age_batches_error": 0.0}
        for site in sites:
            self._after = site.number
            request = age_of(
                site, self._settings.recrawl_periods, min(left, self._settings.max_urls_per_site)
            )
            answer = self._operations.execute(Operation.URL_AGE, [request])
            counters["age_batches_total"] += 1
            if _fault(answer):
                counters["age_batches_error"] += 1
                self.complaints.append(f"site {site.id}: {_fault(answer)}")
                continue
            left -= _count(answer)
            if left <= 0:
                break
        if len(sites) < most:
            self._after = -1
        return counters


def age_of(site: AgingSite, periods: float, most: int) -> URLAge:
    """Return the request that deletes what is too old: not touched for some re-crawl periods."""
    minutes = math.ceil(site.recrawl_period * periods)
    # AGING_URL_CRITERION of the site, if it has one, is used in place of this.
    old = f"IFNULL(UDate, CDate) < DATE_SUB(NOW(), INTERVAL {minutes} MINUTE)"
    return URLAge(
        urls_criterions=Criterions(where=f"ParentMd5 <> '' AND {old}", limit=most),
        sites_criterions=Criterions(where=f"Id = '{site.id}'", limit=1),
        max_urls=most,
        delayed_type=DelayedType.DELAYED,
    )


class Purge:
    """Removes the contents of deleted URLs, of all sites."""

    def __init__(self, settings: ServiceSettings, operations: Operations) -> None:
        self._settings = settings.purge
        self._operations = operations
        self.complaints: list[str] = []

    def run(self, now: float) -> Mapping[str, float]:
        """Purge a number of URLs of each site."""
        del now
        self.complaints = []
        if unanswered(self._operations, Operation.URL_PURGE) >= self._settings.max_tasks:
            return {"purge_batches_canceled": 1}
        request = URLPurge(
            site_limits=(0, -1), criterions=Criterions(limit=self._settings.max_urls_per_site)
        )
        answer = self._operations.execute(Operation.URL_PURGE, [request])
        fault = _fault(answer)
        self.complaints = [fault] if fault else []
        return {"purge_batches_total": 1, "purge_batches_error": float(bool(fault))}


def _fault(answer: object) -> str:
    if isinstance(answer, GeneralResponse) and answer.error_code:
        return answer.error_message
    return ""


def _count(answer: object) -> int:
    assert isinstance(answer, GeneralResponse)
    return sum(each for each in answer.statuses if isinstance(each, int))


def beside_crawling(
    settings: ServiceSettings,
    operations: Operations,
    closing: ExitStack,
    *,
    guard: Guard | None = None,
) -> list[Periodic]:
    """Return the processes RECRAWL, INCREMENTAL, AGE and PURGE; `closing` ends what they opened."""
    workspace = make_data_dir(settings)
    catalog = ServiceCatalog.open(workspace.catalog, CatalogSettings(), shared=True)
    closing.callback(catalog.close)
    recrawl, age = Recrawling(settings, operations, catalog), Aging(settings, operations, catalog)
    purge = Purge(settings, operations)
    return [
        _complaining("RECRAWL", settings.recrawl.period_seconds, recrawl),
        Periodic(
            "INCREMENTAL",
            settings.incremental.period_seconds,
            Incremental(settings, catalog, guard).run,
        ),
        _complaining("AGE", settings.aging.period_seconds, age),
        _complaining("PURGE", settings.purge.period_seconds, purge),
    ]


def _complaining(name: str, seconds: float, process: Recrawling | Aging | Purge) -> Periodic:
    return Periodic(name, seconds, process.run, complaints=lambda: process.complaints)
