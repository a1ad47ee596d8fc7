"""Sites of the service: made, changed, looked at and found."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from gossamer.catalog.connection import Database
from gossamer.catalog.criterions import Compiled
from gossamer.catalog.service_members import (
    Change,
    Changeable,
    changing,
    delete_members,
    enter,
    find_document,
    find_site,
    members_among,
    new_set,
    newcomer,
    renew_members,
)
from gossamer.catalog.service_rows import (
    SELECT_SITE,
    SERVICE,
    SITE_COLUMNS,
    Column,
    KnownSite,
    root_fields,
    root_from,
    site_from,
)
from gossamer.catalog.service_selection import SITES, epoch_at, moment_sql, select_sites
from gossamer.objects.enumerations import (
    GENERAL_SITE,
    DeleteReason,
    ErrorCode,
    SiteState,
    UpdateType,
)
from gossamer.objects.filters import check_filters
from gossamer.objects.methods import check_fetch_type
from gossamer.objects.normal import normalised, root_urls_of
from gossamer.objects.normalizing import Rewriting, rewriting_of, rewritten
from gossamer.objects.problems import ObjectError
from gossamer.objects.properties import check_properties
from gossamer.objects.site import (
    Filter,
    Properties,
    Property,
    Site,
    SiteFind,
    SiteStatus,
    SiteUpdate,
    SiteURL,
)

_COUNTERS: Final = frozenset(
    {
        "resources", "contents", "collected_urls", "new_urls", "deleted_urls", "errors", "size",
        "error_mask", "avg_speed", "avg_speed_counter",
    }
)  # fmt: skip
_GIVEN: Final = tuple(column for column in SITE_COLUMNS if column.field not in _COUNTERS)
_INSERT_SITE: Final = "INSERT INTO service_site (site_id, set_id, {}) VALUES ({})".format(  # noqa: S608
    ", ".join(column.column for column in _GIVEN), ", ".join("?" * (len(_GIVEN) + 2))
)
_UPDATED: Final = tuple(column for column in SITE_COLUMNS if column.field != "id")
# A site cannot be told that it is gone: there are operations for that.
_NO_STATES: Final = frozenset({SiteState.DELETED, SiteState.DELETE_TASK, SiteState.NOT_FOUND})
_FIND_LIMIT: Final = 10
_UPDATE_ROOTS: Final = "UPDATE_NOT_INSERT_ROOT_URLS"
_LAST: Final = "\U0010ffff"
_MINUTE: Final = 60.0


class SiteError(ObjectError):
    """A site that should not be there is, or one that should be is not (error 2020)."""

    code = ErrorCode.SITE


def exists(database: Database, site_id: str) -> bool:
    """Whether there is such a site."""
    with database.doing("look for a site") as connection:
        return find_site(connection, site_id) is not None


def check_site(site: Site, now: float) -> None:
    """Raise an ObjectError for what a new site cannot have, before anything is made for it."""
    settable_state("Site", site.state)
    check_fetch_type("Site", site.fetch_type)
    check_properties(site.properties)
    check_filters(site.filters)
    _column_values(site, _GIVEN, now)
    rewriting = rewriting_of(
        {each.name: each.value for each in site.properties if not each.url_md5}
    )
    for root in root_urls_of(site):
        _as_wanted(root.url, rewriting)


def new_site(catalog: Changeable, site: Site, now: float) -> None:
    """Make a site that has its id; SiteError if there is such a site."""
    with changing(catalog, "make a site", now) as change:
        copy_roots(change, make_site(change, site))


def make_site(change: Change, site: Site) -> KnownSite:
    """Make a site inside a transaction (S3.115-S3.121); its root URLs are no members yet."""
    connection = change.connection
    if find_site(connection, site.id) is not None:
        raise SiteError("Site", "id", f"duplicate site {site.id}; another id is expected")
    check_fetch_type("Site", site.fetch_type)
    (site_id,) = connection.execute(SERVICE["next_site_id"]).fetchone()
    values = _column_values(site, _GIVEN, change.now)
    values["cdate"] = values.get("cdate", change.now)
    values["state"] = int(settable_state("Site", site.state))
    values.setdefault("recrawl_date", _first_recrawl(site.recrawl_period, change.now))
    row = [values.get(column.column) for column in _GIVEN]
    connection.execute(_INSERT_SITE, (site_id, new_set(change, site_id), *row))
    # Before the root URLs, which are written as the properties say.
    _put_properties(change, site_id, site.properties, UpdateType.APPEND)
    _put_roots(change, site_id, site.urls, UpdateType.APPEND)
    _put_filters(change, site_id, site.filters, UpdateType.APPEND)
    made = find_site(connection, site.id)
    assert made is not None, "a site was made, but cannot be found"
    return made


def update_site(catalog: Changeable, update: SiteUpdate, now: float) -> int:
    """Change a site, or all that criterions select; return how many there were.

    SiteError if the site that is named is not there (C3).
    """
    check_fetch_type("SiteUpdate", update.fetch_type)
    with changing(catalog, "change sites", now) as change:
        sites = _meant(change, update)
        for site in sites:
            change_site(change, site, update)
        return len(sites)


def _meant(change: Change, update: SiteUpdate) -> list[KnownSite]:
    if update.id is not None:
        site = find_site(change.connection, update.id)
        if site is None:
            raise SiteError("SiteUpdate", "id", f"site id not found: {update.id}")
        return [site]
    if update.criterions is None:
        raise ObjectError("SiteUpdate", "id", "an id or criterions are expected")
    ids = select_sites(change.connection, update.criterions, change.now)
    return known_sites(change.connection, ids)


def known_sites(connection: sqlite3.Connection, ids: Iterable[str]) -> list[KnownSite]:
    """Return those sites that are there."""
    found = (find_site(connection, site_id) for site_id in ids)
    return [site for site in found if site is not None]


def change_site(change: Change, site: KnownSite, update: SiteUpdate) -> None:
    """Change one site, inside a transaction (S3.126-S3.131)."""
    restarts = update.state is SiteState.RESTART
    values = {
        column.column: _changed_value(column, getattr(update, column.field), change.now)
        for column in _UPDATED
        if getattr(update, column.field) is not None
    }
    if restarts:
        del values["state"]
    elif update.state is not None:
        values["state"] = Compiled("?", (int(settable_state("SiteUpdate", update.state)),))
    if update.recrawl_period is not None and update.recrawl_date is None:
        first = _first_recrawl(update.recrawl_period, change.now)
        values["recrawl_date"] = Compiled("?", (first,))
    if values:
        pieces = ", ".join(f"{column} = {made.sql}" for column, made in values.items())
        parameters = [value for made in values.values() for value in made.parameters]
        change.connection.execute(
            f"UPDATE service_site AS s SET {pieces} WHERE s.site_id = ?",  # noqa: S608 - our columns
            (*parameters, site.site_id),
        )
    if update.properties is not None:
        _put_properties(change, site.site_id, update.properties, update.update_type)
    if update.urls is not None:
        _put_roots(change, site.site_id, update.urls, update.update_type)
    if update.filters is not None:
        _put_filters(change, site.site_id, update.filters, update.update_type)
    _renew_roots(change, site, update, restarts=restarts)
    if restarts:
        change.connection.execute(SERVICE["restart_site"], (change.now, site.site_id))


def _renew_roots(change: Change, site: KnownSite, update: SiteUpdate, *, restarts: bool) -> None:
    """Bring the root URLs of a site among its URLs.

    The one place that decides about UPDATE_NOT_INSERT_ROOT_URLS (C5): set and not 0, the root URLs
    that are there go first; otherwise those that are missing are added, and only if the update
    names some or restarts the site. A restart has all of them crawled again.
    """
    if property_of(change.connection, site.site_id, _UPDATE_ROOTS) not in ("", "0"):
        rows = change.connection.execute(SERVICE["root_members"], (site.set_id,))
        doc_ids = [row[0] for row in rows]
        if doc_ids:
            reason = DeleteReason.SITE_UPDATE_ROOT_URLS
            delete_members(change, site, doc_ids, reason=reason)
        copy_roots(change, site)
    elif restarts:
        _restart_roots(change, site)
        copy_roots(change, site)
    elif update.urls is not None:
        copy_roots(change, site)


def _restart_roots(change: Change, site: KnownSite) -> None:
    """Make the root URLs that are there already as new as those that are copied (S3.131)."""
    rows = change.connection.execute(SERVICE["roots_of"], (site.site_id,)).fetchall()
    known = [find_document(change.connection, row[0]) for row in rows]
    wanted = [doc_id for doc_id in known if doc_id is not None]
    doc_ids = sorted(members_among(change.connection, site.set_id, wanted))
    renew_members(change, site, doc_ids, SERVICE["restart_roots"])


def property_of(connection: sqlite3.Connection, site_id: int, name: str) -> str:
    """Return the value of a property, empty if the site does not have it."""
    row = connection.execute(SERVICE["property_of"], (site_id, name)).fetchone()
    return "" if row is None else str(row[0])


def copy_roots(change: Change, site: KnownSite) -> None:
    """Make the root URLs of a site members of it, those that are missing."""
    rows = change.connection.execute(SERVICE["roots_of"], (site.site_id,)).fetchall()
    enter(
        change,
        [newcomer(site, row[0], root_from(*row), change.now) for row in rows],
    )


def site_status(database: Database, request: SiteStatus) -> Site:
    """Return a site by its id, without a search; its state says if it is not there (S3.133)."""
    with database.reading("look at a site") as connection:
        query = f"{SELECT_SITE} WHERE s.id = ?"
        row = connection.execute(query, (request.id or GENERAL_SITE,)).fetchone()
        if row is not None:
            return site_from(connection, row, request.exclude_list)
        left = connection.execute(SERVICE["tombstone_of"], (request.id,)).fetchone()
    state = SiteState.NOT_FOUND if left is None else SiteState(left[1])
    return Site(id=request.id, state=state, filters=[], properties=Properties())


def find_sites(database: Database, request: SiteFind, now: float) -> list[Site]:
    """Return sites with a root URL that begins so, and that criterions select (C11)."""
    criterions = request.criterions
    with database.reading("find sites") as connection:
        among = None
        if request.url:
            bounds = {"first": request.url, "after": request.url + _LAST}
            among = [row[0] for row in connection.execute(SERVICE["sites_by_prefix"], bounds)]
        ids = select_sites(
            connection,
            criterions,
            now,
            among=among,
            order_by="CDate DESC",
            limit=_FIND_LIMIT,
        )
        query = f"{SELECT_SITE} WHERE s.id = ?"
        rows = [connection.execute(query, (site_id,)).fetchone() for site_id in ids]
        return [site_from(connection, row, request.exclude_list) for row in rows]


# --------------------------------------------------------------------------------- lists


def _put_roots(
    change: Change, site_id: int, urls: Sequence[str | SiteURL], update_type: UpdateType
) -> None:
    if update_type is UpdateType.OVERWRITE:
        change.connection.execute(SERVICE["forget_roots"], (site_id,))
    rows = change.connection.execute(SERVICE["properties_of"], (site_id,))
    rewriting = rewriting_of({name: value for name, url_md5, value, *_ in rows if not url_md5})
    for each in urls:
        root = SiteURL(url=each) if isinstance(each, str) else each
        url, fields = _as_wanted(normalised(root.url), rewriting), root_fields(root)
        if update_type is UpdateType.UPDATE:
            change.connection.execute(SERVICE["change_root"], (root.user_id, fields, site_id, url))
        else:
            values = (site_id, url, root.user_id, fields, change.now)
            change.connection.execute(SERVICE["insert_root"], values)


def _as_wanted(url: str, rewriting: Rewriting) -> str:
    """Return a root URL as its site wants URLs; ObjectError if it is none then."""
    wanted = url if rewriting.is_usual else rewritten(url, rewriting)
    if wanted is None:
        raise ObjectError("Site", "urls", f"{url} is no URL any more after URL_NORMALIZE")
    return wanted


def _put_filters(
    change: Change, site_id: int, filters: Sequence[Filter], update_type: UpdateType
) -> None:
    check_filters(filters)
    if update_type is UpdateType.OVERWRITE:
        change.connection.execute(SERVICE["forget_filters"], (site_id,))
    for each in filters:
        changed = (
            each.subject, int(each.op_code), each.action, int(each.type or 0), int(each.mode),
            int(each.state), each.group_id,
        )  # fmt: skip
        if update_type is UpdateType.UPDATE:
            key = (site_id, each.pattern, int(each.stage))
            change.connection.execute(SERVICE["change_filter"], (*changed, change.now, *key))
        else:
            subject, op_code, *rest = changed
            change.connection.execute(
                SERVICE["insert_filter"],
                (
                    site_id, each.pattern, subject, op_code, int(each.stage), *rest,
                    epoch_at(each.u_date, change.now),
                    epoch_at(each.c_date, change.now) or change.now,
                ),
            )  # fmt: skip


def _put_properties(
    change: Change, site_id: int, properties: Iterable[Property], update_type: UpdateType
) -> None:
    check_properties(properties)
    if update_type is UpdateType.OVERWRITE:
        change.connection.execute(SERVICE["forget_properties"], (site_id,))
    query = "change_property" if update_type is UpdateType.UPDATE else "put_property"
    for each in properties:
        values = {
            "site_id": site_id,
            "name": each.name,
            "url_md5": each.url_md5,
            "value": each.value,
            "udate": epoch_at(each.u_date, change.now),
            "cdate": epoch_at(each.c_date, change.now) or change.now,
            "now": change.now,
        }
        change.connection.execute(SERVICE[query], values)


def _column_values(given: Struct, columns: Iterable[Column], now: float) -> dict[str, object]:
    """Return the columns of fields that are given, as they are stored."""
    values: dict[str, object] = {}
    for column in columns:
        value = getattr(given, column.field)
        if value is not None:
            values[column.column] = epoch_at(value, now) if column.is_moment else value
    return values


def _changed_value(column: Column, value: Any, now: float) -> Compiled:
    """Return a new value; a date may be made of columns of the site."""
    return moment_sql(value, SITES, now) if column.is_moment else Compiled("?", (value,))


def settable_state(kind: str, state: SiteState) -> SiteState:
    """Return the state that a site gets; ObjectError if it is not for clients to set."""
    if state in _NO_STATES:
        raise ObjectError(kind, "state", f"{state.name} cannot be set; another is expected")
    return SiteState.ACTIVE if state is SiteState.RESTART else state


def _first_recrawl(period: int, now: float) -> float | None:
    return now + period * _MINUTE if period else None
