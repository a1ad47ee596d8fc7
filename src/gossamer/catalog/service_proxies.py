"""Proxies of sites."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import asdict, replace

from gossamer.catalog.connection import Database
from gossamer.catalog.criterions import Compiled, Compiler
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import changing, find_site
from gossamer.catalog.service_rows import SELECT_PROXY, SERVICE, Row, proxy_fields, proxy_from
from gossamer.catalog.service_selection import PROXIES, epoch_at, select_sites
from gossamer.objects.criterions import parse_criterions
from gossamer.objects.enumerations import ItemStatus
from gossamer.objects.extras import Proxy, ProxyDelete, ProxyFind, ProxyStatus, ProxyUpdate
from gossamer.objects.proxying import is_usable
from gossamer.objects.selection import Criterions

_KEYS: Final = frozenset({"id", "site_id", "host", "c_date", "u_date"})


def new_proxies(catalog: ServiceCatalog, proxies: Iterable[Proxy], now: float) -> list[ItemStatus]:
    """Enter proxies; one status for each. One that could never be used fails."""
    statuses = []
    with changing(catalog, "add proxies", now) as change:
        for proxy in proxies:
            site = find_site(change.connection, proxy.site_id)
            if site is None or not is_usable(proxy.host, proxy.domains, proxy.limits):
                statuses.append(ItemStatus.FAILED)
                continue
            values = (
                site.site_id, proxy.host, proxy_fields(asdict(proxy)), proxy.priority,
                proxy.state, proxy.faults, proxy.faults_max,
                epoch_at(proxy.c_date, now) or now, epoch_at(proxy.u_date, now),
            )  # fmt: skip
            is_new = change.connection.execute(SERVICE["insert_proxy"], values).rowcount
            statuses.append(ItemStatus.INSERTED if is_new else ItemStatus.EXISTED)
    return statuses


def update_proxies(
    catalog: ServiceCatalog, updates: Iterable[ProxyUpdate], now: float
) -> list[bool]:
    """Change proxies, the fields that are not None; whether each is there and can be used so."""
    statuses = []
    with changing(catalog, "change proxies", now) as change:
        for update in updates:
            which = _which(update.site_id, update.host, None, now)
            row = change.connection.execute(SELECT_PROXY + which.sql, which.parameters).fetchone()
            if row is None or not is_usable(update.host, update.domains or (), update.limits):
                statuses.append(False)
                continue
            statuses.append(True)
            given = {
                name: value
                for name, value in asdict(update).items()
                if value is not None and name not in _KEYS
            }
            proxy = replace(proxy_from(row), **given)
            udate = now if update.u_date is None else epoch_at(update.u_date, now)
            values = (
                proxy_fields(asdict(proxy)), proxy.priority, proxy.state, proxy.faults,
                proxy.faults_max, udate, row[0],
            )  # fmt: skip
            change.connection.execute(SERVICE["change_proxy"], values)
    return statuses


def delete_proxies(
    catalog: ServiceCatalog, requests: Iterable[ProxyDelete], now: float
) -> list[bool]:
    """Forget proxies; whether each request found some."""
    statuses = []
    with changing(catalog, "delete proxies", now) as change:
        for request in requests:
            which = _which(request.site_id, request.host, request.criterions, now)
            rows = change.connection.execute(SELECT_PROXY + which.sql, which.parameters).fetchall()
            change.connection.executemany(SERVICE["delete_proxy"], [(row[0],) for row in rows])
            statuses.append(bool(rows))
    return statuses


def proxy_status(database: Database, requests: Iterable[ProxyStatus], now: float) -> list[Proxy]:
    """Return proxies of sites."""
    rows: list[Row] = []
    with database.reading("look at proxies") as connection:
        for request in requests:
            which = _which(request.site_id, request.host, request.criterions, now)
            rows += connection.execute(SELECT_PROXY + which.sql, which.parameters).fetchall()
    return [proxy_from(row) for row in rows]


def find_proxies(database: Database, requests: Iterable[ProxyFind], now: float) -> list[Proxy]:
    """Return proxies, over sites."""
    rows: list[Row] = []
    with database.reading("find proxies") as connection:
        for request in requests:
            ids: list[str | None] = [request.site_id]
            if request.site_id is None and request.site_criterions is not None:
                ids = list(select_sites(connection, request.site_criterions, now))
            for site_id in ids:
                which = _which(site_id, None, request.criterions, now)
                rows += connection.execute(SELECT_PROXY + which.sql, which.parameters).fetchall()
    return [proxy_from(row) for row in rows]


def _which(
    site_id: str | None, host: str | None, criterions: Criterions | None, now: float
) -> Compiled:
    """Return the condition for proxies of one site, or of all; of one host, or by criterions."""
    conditions, parameters = [], []
    if site_id is not None:
        conditions.append("s.id = ?")
        parameters.append(site_id or "0")
    if host is not None:
        conditions.append("p.host = ?")
        parameters.append(host)
    added = Compiled(" AND ".join(conditions), tuple(parameters))
    given = Criterions() if host is not None else criterions
    return Compiler(PROXIES, now).selection(parse_criterions(given or Criterions()), added)
