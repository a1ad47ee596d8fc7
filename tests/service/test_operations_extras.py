"""Attributes, proxies and SQL of the client's own."""

import pytest
from operations_desk import ROOT, SITE, Desk

from gossamer.objects.enumerations import FieldNames
from gossamer.objects.extras import (
    Attribute,
    AttributeDelete,
    AttributeFetch,
    AttributeUpdate,
    CustomRequest,
    Proxy,
    ProxyDelete,
    ProxyFind,
    ProxyStatus,
    ProxyUpdate,
)
from gossamer.objects.problems import CriterionError, UnsupportedError
from gossamer.objects.selection import Criterions
from gossamer.objects.site import SiteDelete
from sql_attacks import ATTACKS

MD5 = "ab" * 16


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path, sql_custom=True, max_rows=50)
    made.site(ROOT)
    yield made
    assert made.is_sound()
    made.close()


# ----------------------------------------------------------------------------- attributes


def values(desk: Desk, **fields) -> dict[tuple[str, str], str]:
    found = desk.do("ATTR_FETCH", [AttributeFetch(site_id=SITE, **fields)])
    assert all(each.site_id == SITE for each in found)
    return {(each.name, each.url_md5): each.value for each in found}


@pytest.mark.req("S3.33")
def test_attributes_are_set_updated_fetched_and_deleted(desk):
    attributes = [
        Attribute(site_id=SITE, name="a", value="1"),
        Attribute(site_id=SITE, name="a", url_md5=MD5, value="2"),
        Attribute(site_id=SITE, name="a", value="3"),
        Attribute(site_id="f" * 32, name="a", value="4"),
    ]
    assert desk.statuses("ATTR_SET", attributes) == [0, 0, 2, 3]
    assert values(desk, name="a") == {("a", ""): "3", ("a", MD5): "2"}
    updates = [
        AttributeUpdate(site_id=SITE, name="a", url_md5=MD5, value="5"),
        AttributeUpdate(site_id=SITE, name="b", value="6"),
        AttributeUpdate(site_id="f" * 32, name="b", value="7"),
    ]
    assert desk.statuses("ATTR_UPDATE", updates) == [True, True, False]
    everything = {("a", ""): "3", ("a", MD5): "5", ("b", ""): "6"}
    assert values(desk, criterions=Criterions()) == everything
    assert values(desk, criterions=Criterions(where="Value > '4'")) == {
        ("a", MD5): "5",
        ("b", ""): "6",
    }
    deletes = [
        AttributeDelete(site_id=SITE, name="a", url_md5=MD5),
        AttributeDelete(site_id=SITE, name="a", url_md5=MD5),
        AttributeDelete(site_id=SITE, criterions=Criterions(where="Name = 'b'")),
    ]
    assert desk.statuses("ATTR_DELETE", deletes) == [True, False, True]
    assert values(desk, criterions=Criterions()) == {("a", ""): "3"}


def test_a_deletion_with_a_limit_goes_no_further(desk):
    desk.statuses(
        "ATTR_SET", [Attribute(site_id=SITE, name=name, value="x") for name in ("a", "b", "c")]
    )
    two = AttributeDelete(site_id=SITE, criterions=Criterions(order_by="Name", limit=2))
    assert desk.statuses("ATTR_DELETE", [two]) == [True]
    assert values(desk, criterions=Criterions()) == {("c", ""): "x"}


# -------------------------------------------------------------------------------- proxies


def hosts(desk: Desk, **fields) -> list[str]:
    return sorted(each.host for each in desk.do("PROXY_FIND", [ProxyFind(**fields)]))


def test_proxies_are_entered_changed_found_and_deleted(desk):
    proxies = [
        Proxy(site_id=SITE, host="p1:3128", priority=5, domains=["a", "b"], country_code="de"),
        Proxy(site_id=SITE, host="p2:3128", latitude=1.5, limits="{}"),
        Proxy(site_id=SITE, host="p1:3128", priority=7),
        Proxy(host="p1:3128"),
        Proxy(site_id="f" * 32, host="p1:3128"),
    ]
    assert desk.statuses("PROXY_NEW", proxies) == [0, 0, 2, 0, 1]
    (one,) = desk.do("PROXY_STATUS", [ProxyStatus(site_id=SITE, host="p1:3128")])
    assert (one.priority, one.domains, one.country_code) == (5, ["a", "b"], "de")
    assert (one.site_id, one.c_date is None, one.u_date) == (SITE, False, None)
    updates = [
        ProxyUpdate(site_id=SITE, host="p1:3128", faults=3, city_name="x"),
        ProxyUpdate(site_id=SITE, host="nobody", faults=3),
    ]
    assert desk.statuses("PROXY_UPDATE", updates) == [True, False]
    (one,) = desk.do("PROXY_STATUS", [ProxyStatus(site_id=SITE, host="p1:3128")])
    assert (one.faults, one.city_name, one.priority, one.domains) == (3, "x", 5, ["a", "b"])
    assert one.u_date is not None
    assert hosts(desk, site_id=SITE) == ["p1:3128", "p2:3128"]
    assert hosts(desk) == ["p1:3128", "p1:3128", "p2:3128"]
    assert hosts(desk, criterions=Criterions(where="Faults > 2")) == ["p1:3128"]
    assert hosts(desk, site_criterions=Criterions(where="Id = '0'")) == ["p1:3128"]
    assert hosts(desk, criterions=Criterions(where="CountryCode = 'de'")) == ["p1:3128"]
    deletes = [
        ProxyDelete(site_id=SITE, host="p2:3128"),
        ProxyDelete(site_id=SITE, host="p2:3128"),
        ProxyDelete(site_id=SITE, criterions=Criterions(where="Faults = 3")),
    ]
    assert desk.statuses("PROXY_DELETE", deletes) == [True, False, True]
    assert hosts(desk) == ["p1:3128"]


def test_proxies_go_with_their_site(desk):
    desk.statuses("PROXY_NEW", [Proxy(site_id=SITE, host="p1:3128")])
    desk.statuses("SITE_DELETE", [SiteDelete(id=SITE)])
    assert hosts(desk) == []


def test_conditions_about_proxies_are_no_sql(desk):
    with pytest.raises(CriterionError):
        desk.do("PROXY_FIND", [ProxyFind(criterions=Criterions(where="p.fields = ''"))])


# ------------------------------------------------------------------------------ SQL_CUSTOM


def ask(desk: Desk, query, **fields):
    return desk.do("SQL_CUSTOM", CustomRequest(query=query, **fields))


@pytest.mark.req("S3.32")
def test_the_tables_of_the_document_can_be_read(desk):
    desk.add(SITE, "http://a.example/1")
    desk.statuses("ATTR_SET", [Attribute(site_id=SITE, name="a", value="1")])
    answer = ask(desk, f"SELECT URL, Status FROM urls_{SITE} ORDER BY URL", rid=7)
    assert answer.result == [[ROOT, 1], ["http://a.example/1", 1]]
    assert (answer.rid, answer.err_string) == (7, None)
    both = ask(
        desk,
        ["SELECT Id, State FROM sites WHERE Id <> '0'", f"SELECT Name FROM att_{SITE}"],
        include_fields_names=FieldNames.NAMES,
    )
    assert both.result == [[{"Id": SITE, "State": 1}], [{"Name": "a"}]]
    tables = ["sites_urls", "sites_filters", "sites_properties", "sites_proxy"]
    own = [f"{name}_{SITE}" for name in ("urls", "att", "log", "freq")]
    for table in ("sites", *tables, *own):
        assert ask(desk, f"SELECT count(*) FROM {table}").err_string is None
    for table in ("log", "freq"):
        assert ask(desk, f"SELECT * FROM {table}_{SITE}").result == []


def test_deleted_urls_are_in_a_database_of_their_own(desk):
    query = f"SELECT URL FROM urls_{SITE}"
    assert ask(desk, query, db_name="dc_urls").result == [[ROOT]]
    assert ask(desk, query, db_name="dc_urls_deleted").result == []
    assert "no such database" in ask(desk, query, db_name="mysql").err_string


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM member",
        "UPDATE service_site SET state = 4",
        "INSERT INTO service_site (id) VALUES ('x')",
        "DROP TABLE url",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "ATTACH 'other.db' AS other",
        "PRAGMA query_only = OFF",
        "VACUUM INTO 'copy.db'",
        "SELECT * FROM sqlite_master",
        "SELECT url FROM url",
        "SELECT * FROM pragma_table_info('url')",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "BEGIN",
        "nonsense",
        "",
        "SELECT zeroblob(100000000)",
        # A common table expression may be called as a view is, and SQLite then says that name.
        "WITH sites AS (SELECT md5 FROM url) SELECT * FROM sites",
        "SELECT * FROM (WITH sites AS (SELECT name, sql FROM sqlite_master) SELECT * FROM sites)",
        "SELECT count(*) FROM url",
        "EXPLAIN SELECT * FROM sites",
        "SELECT sqlite_version()",
    ],
)
def test_nothing_else_can_be_done(desk, query):
    before = desk.status()
    answer = ask(desk, query)
    assert answer.err_string or answer.result == []
    assert answer.result in (None, [])
    assert desk.status() == before


def test_hostile_statements_change_nothing_and_read_nothing_else(tmp_path):
    """At least 200 of them, on the catalog of the service itself (T20)."""
    desk = Desk(tmp_path, sql_custom=True, timeout_seconds=0.1)
    desk.site(ROOT)
    secret = "the-secret-of-another-table"
    desk.statuses("ATTR_SET", [Attribute(site_id=SITE, name="secret", value=secret)])
    before = desk.status()
    for attack in ATTACKS:
        assert secret not in repr(ask(desk, _on_the_catalog(attack)).result), attack
        assert desk.status() == before, attack
    desk.close()


def _on_the_catalog(attack: str) -> str:
    """Return a statement that was made for other tables as one for those of the service."""
    attack = attack.replace("dc_urls", f'"urls_{SITE}"').replace("dc_sites", "sites")
    return attack.replace("secrets", "attribute").replace("token", "value")


def test_rows_bytes_and_time_are_limited(desk, tmp_path):
    desk.add(SITE, *(f"http://a.example/{number}" for number in range(9)))
    many = f"SELECT a.URL FROM urls_{SITE} a, urls_{SITE} b LIMIT 51"
    assert "more than 50 rows are not allowed" in ask(desk, many).err_string
    long = [Attribute(site_id=SITE, name=f"a{n}", value="x" * 1_000_000) for n in range(9)]
    desk.statuses("ATTR_SET", long)
    assert "bytes are not allowed" in ask(desk, f"SELECT Value FROM att_{SITE}").err_string
    endless = "SELECT count(*) FROM " + ", ".join(f"urls_{SITE} u{n}" for n in range(20))
    hasty = Desk(tmp_path, sql_custom=True, timeout_seconds=0.5)
    assert "took more than 0.5 s" in ask(hasty, endless).err_string
    hasty.close()


def test_it_is_off_unless_the_administrator_switches_it_on(tmp_path):
    desk = Desk(tmp_path)
    with pytest.raises(UnsupportedError, match="switched off"):
        ask(desk, "SELECT 1")
    desk.close()
