"""The grammar of criterions: what is read, and errors that name the place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.objects.columns import (
    ATTRIBUTE_COLUMNS,
    FILTER_COLUMNS,
    PROPERTY_COLUMNS,
    PROXY_COLUMNS,
    SITE_COLUMNS,
    URL_COLUMNS,
)
from gossamer.objects.content import DB_FIELDS
from gossamer.objects.criterions import (
    parse_condition,
    parse_criterions,
    parse_limit,
    parse_order,
    parse_select,
    parse_tables,
)
from gossamer.objects.evaluation import evaluate
from gossamer.objects.expressions import (
    Aggregate,
    Binary,
    Column,
    Junction,
    Kind,
    Literal,
    Macro,
    Ordering,
    Selection,
    Shift,
    Window,
)
from gossamer.objects.extras import Attribute, Proxy
from gossamer.objects.problems import CriterionError
from gossamer.objects.resolution import Scope, resolve_condition
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Filter, Property, Site
from gossamer.objects.url import URL


def value(text: str, **macros: object) -> object:
    return evaluate(resolve_condition(parse_condition(text), Scope({}, 0.0, macros=macros)), {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 OR 0 AND 0", 1),
        ("(1 OR 0) AND 0", 0),
        ("NOT 1 = 2", 1),
        ("NOT NOT 1", 1),
        ("!0", 1),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("7 / 2", 3.5),
        ("-7 % 3", -1),
        ("1 | 2 & 4 << 1", 1),
        ("1 << 2 + 1", 8),
        ("-1 >> 1", -1),
        ("~0", -1),
        ("- - 1", 1),
        ("2 BETWEEN 1 AND 3 AND 0", 0),
        ("1 IN (2, 1)", 1),
        ("1 IN (2, NULL)", None),
        ("1 NOT IN (2, 3)", 1),
        ("NULL = NULL", None),
        ("NULL IS NULL", 1),
        ("NULL AND 0", 0),
        ("NULL OR 1", 1),
        ("'it''s' = \"it's\"", 1),
        (r"'a\'b' = 'a''b'", 1),
        (r"'50%' LIKE '50\%'", 1),
        (r"'50x' LIKE '50\%'", 0),
        ("'abc' LIKE 'A_C'", 1),
        ("'x' < 'y'", 1),
        ("'10' = 10", 1),
        ("10 / 0", None),
        ("9223372036854775807 + 1 > 9223372036854775807", 1),
        ("LENGTH('ä') = 2", 1),
        ("IFNULL(NULL, 3) = 3", 1),
        ("%N% = 5", 1),
        ("'<%N%>' = '<5>'", 1),
        ("'2026-01-01' = DATE_ADD('2025-12-31', INTERVAL 1 DAY)", 1),
        ("DATE_ADD('2026-01-01', INTERVAL -1 QUARTER) = '2025-10-01'", 1),
        ("'1970-01-01 00:00:10' > NOW()", 1),
    ],
)
def test_precedence_and_meaning(text, expected):
    assert value(text, N=5) == expected


def test_columns_are_in_lower_case_and_may_have_a_table():
    assert parse_condition("dc_urls.`urls_%SITE_ID%`.`HTTPCode`") == Column(
        "httpcode", "urls_%site_id%", 0
    )
    assert parse_condition("%Name%") == Macro("Name", 0)
    assert isinstance(parse_condition("UDate - INTERVAL 5 MINUTE"), Shift)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (10, Window(10)),
        ("10", Window(10)),
        ("5,10", Window(10, 5)),
        (" 5 , 10 ", Window(10, 5)),
        ("10 OFFSET 5", Window(10, 5)),
        ([5, 10], Window(10, 5)),
        ([10], Window(10)),
        (0, Window(0)),
        (None, None),
        ("", None),
        (" ", None),
        ([], None),
    ],
)
def test_limits_are_numbers_texts_or_pairs(limit, expected):
    assert parse_limit(limit) == expected


@pytest.mark.parametrize(
    "limit", [-1, [1, -1], [1, 2, 3], "x", "1;2", "-1", "1.5", 2**60, "9" * 30]
)
def test_other_limits_are_named(limit):
    with pytest.raises(CriterionError, match="LIMIT"):
        parse_limit(limit)


def test_all_parts_of_criterions():
    parsed = parse_criterions(
        Criterions(
            where="Status = %count%",
            order_by="CDate DESC, URL",
            limit="5,10",
            sql={"count": "SELECT COUNT(*) FROM urls_%SITE_ID% WHERE Status = 4 LIMIT 1"},
            tables="sites_urls, `dc_sites`.`sites_properties`",
        )
    )
    assert isinstance(parsed.where, Binary)
    assert parsed.order_by == (Ordering(Column("cdate"), True), Ordering(Column("url", "", 12)))
    assert parsed.window == Window(10, 5)
    assert parsed.tables == ("sites_urls", "sites_properties")
    ((name, query),) = parsed.queries
    assert (name, query.table, query.window) == ("count", "urls_%site_id%", Window(1))
    assert query.value == Aggregate("COUNT", None, 7)
    assert parse_criterions(Criterions(where=" ", order_by="", tables="")) == Selection()


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("Status = ", 9, "a value is expected, but the end stands"),
        ("Status = 4 4", 11, "nothing more is expected"),
        ("Status ; 4", 7, "is no word of a criterion"),
        ("Status IN 4", 10, "'(' is expected"),
        ("Status = 'x", 9, "unfinished"),
        ("SLEEP(5)", 0, "SLEEP is no function of"),
        ("1 AND SELECT", 6, "a value is expected, but 'SELECT' stands"),
        ("NOW() + INTERVAL 1 FORTNIGHT", 28, "a unit of SECOND"),
        ("LENGTH()", 0, "LENGTH has 0 arguments"),
        ("Status NOT 4", 11, "IN, BETWEEN or LIKE is expected"),
        ("Status IS 4", 10, "NULL is expected"),
    ],
)
def test_errors_name_the_character(text, position, words):
    with pytest.raises(CriterionError) as caught:
        parse_condition(text)
    assert words in str(caught.value)
    assert f"at character {position + 1}" in str(caught.value)
    assert (caught.value.position, caught.value.field) == (position, "WHERE")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100 + "1" + ")" * 100,
        "NOT " * 100 + "1",
        "1" + " + 1" * 100,
        "1, " * 2_100,
        "Status IN (" + "1," * 2_100 + "1)",
        "x" * 8_193,
    ],
)
def test_size_and_depth_are_limited(text):
    with pytest.raises(CriterionError, match="expected"):
        parse_condition(text)
    with pytest.raises(CriterionError, match="expected"):
        parse_order(text)


def test_long_chains_are_flat():
    parsed = parse_condition(" AND ".join(["1"] * 900))
    assert isinstance(parsed, Junction)
    assert len(parsed.parts) == 900
    assert parsed.parts[0] == Literal(1, Kind.NUMBER, 0)


@given(st.text(max_size=60))
def test_any_text_is_read_or_named(text):
    for parse in (parse_condition, parse_order, parse_limit, parse_select, parse_tables):
        try:
            parse(text)
        except CriterionError as error:
            assert error.position is None or 0 <= error.position <= len(text)  # noqa: PT017


# Fields that are no columns: lists, other objects, and what only steers a request.
@pytest.mark.parametrize(
    ("kind", "columns", "without"),
    [
        (Site, SITE_COLUMNS, "urls filters properties move_urls"),
        (URL, URL_COLUMNS, "site_select content_mask url_update url_put chain_id attributes"),
        (Property, PROPERTY_COLUMNS, ""),
        (Filter, FILTER_COLUMNS, ""),
        (Attribute, ATTRIBUTE_COLUMNS, ""),
        (Proxy, PROXY_COLUMNS, "domains limits"),
    ],
)
def test_every_field_of_an_object_is_a_column(kind, columns, without):
    attributes = [form.attribute for form in columns.values()]
    assert sorted(attributes) == sorted(set(kind.__struct_fields__) - set(without.split()))


def test_the_fields_that_come_with_contents_are_columns():
    assert set(DB_FIELDS) <= set(URL_COLUMNS)
