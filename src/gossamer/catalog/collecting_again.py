"""Known URLs that are found again (4b.8, re-discovery): when their time has come, they are new."""

from collections.abc import Sequence

from gossamer.catalog.collecting_room import COLLECTING
from gossamer.catalog.collecting_rules import Renewal
from gossamer.catalog.criterions import Compiled, Compiler
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_members import Change, note_status
from gossamer.catalog.service_rows import KnownSite
from gossamer.catalog.service_selection import MEMBERS, moment_sql, url_columns
from gossamer.objects.conditions import PERIOD_MACRO, SITE_MACRO
from gossamer.objects.criterions import parse_condition
from gossamer.objects.moments import Moment
from gossamer.objects.problems import ObjectError
from gossamer.objects.resolution import Value


def renews(renewal: Renewal, recrawl_period: float) -> bool:
    """Whether known URLs of a site ever become new by being found again."""
    return renewal.is_on and bool(renewal.age or recrawl_period)


def renewed(
    change: Change,
    site: KnownSite,
    known: Sequence[int],
    renewal: Renewal,
    recrawl_period: float,
) -> list[int]:
    """Change the known URLs that were found again and whose time has come; return which."""
    if not known or not renews(renewal, recrawl_period):
        return []
    try:
        condition = _condition(change, site, renewal, recrawl_period)
        changes = _changes(change, renewal)
    except ObjectError:
        # Nothing that SITE_NEW lets pass; then known URLs are left alone.
        return []
    values = (site.set_id, json_list(known), *condition.parameters)
    query = COLLECTING["renewable"].replace("{condition}", condition.sql)
    doc_ids = [row[0] for row in change.connection.execute(query, values)]
    if doc_ids:
        query = COLLECTING["renew"].replace("{changes}", changes.sql)
        with change.counted(site, doc_ids):
            values = (*changes.parameters, site.set_id, json_list(doc_ids))
            change.connection.execute(query, values)
        note_status(change.connection, site, renewal.status, doc_ids, change.now)
    return doc_ids


def _condition(
    change: Change, site: KnownSite, renewal: Renewal, recrawl_period: float
) -> Compiled:
    if not renewal.age:
        return Compiled("m.udate < ?", (change.now - 60.0 * recrawl_period,))
    compiler = Compiler(url_columns(site), change.now, _macros(site, recrawl_period))
    return compiler.condition(parse_condition(renewal.age))


def _macros(site: KnownSite, recrawl_period: float) -> dict[str, Value]:
    return {SITE_MACRO: site.id, PERIOD_MACRO: recrawl_period}


def _changes(change: Change, renewal: Renewal) -> Compiled:
    pieces = ["status = ?"]
    parameters: list[Value] = [renewal.status]
    for column, text in renewal.dates:
        moment = moment_sql(Moment(text), MEMBERS, change.now)
        pieces.append(f"{column} = {moment.sql}")
        parameters += moment.parameters
    return Compiled(", ".join(pieces), tuple(parameters))
