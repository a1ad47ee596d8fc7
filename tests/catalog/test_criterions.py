"""Criterions as SQL: the same meaning as the tree has, and nothing of the request in the text."""

import hashlib
import re
import sqlite3
from collections.abc import Iterator

import pytest
from criterion_attacks import ATTACKS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.catalog.criterions import (
    Columns,
    Compiled,
    Compiler,
    Source,
    Table,
    allow_list,
    check_tables,
    compile_select,
)
from gossamer.objects.columns import SITE_COLUMNS
from gossamer.objects.criterions import (
    parse_condition,
    parse_criterions,
    parse_moment,
    parse_order,
    parse_select,
)
from gossamer.objects.evaluation import evaluate
from gossamer.objects.expressions import Kind
from gossamer.objects.problems import CriterionError
from gossamer.objects.resolution import Scope, resolve_condition
from gossamer.objects.selection import Criterions

NOW = 1_800_000_000.0
KINDS = {
    "status": Kind.NUMBER,
    "size": Kind.NUMBER,
    "mrate": Kind.NUMBER,
    "url": Kind.TEXT,
    "charset": Kind.TEXT,
    "udate": Kind.MOMENT,
    "cdate": Kind.MOMENT,
}
COLUMNS = Columns(
    {name: Source(f"rows.{name}_value", kind) for name, kind in KINDS.items()},
    frozenset({"urls", "urls_%site_id%"}),
)
MACROS = {"SITE_ID": "5d41402abc4b2a76b9719d911017c592", "MANY": 7, "NONE": None}
SECRET = "the-secret-of-another-tenant"
ROWS = [
    (1, 4, 1000, 0.5, "http://a.example/", "utf-8", NOW - 10, NOW - 86_400),
    (2, 1, 0, 0.0, "http://b.example/A%b_c", "", None, NOW - 5),
    (3, 7, 20, 1.0, "http://c.example/ä", None, NOW - 900, NOW - 1_000_000),
]


def make_database() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute(
        "CREATE TABLE rows (id INTEGER PRIMARY KEY, status_value INTEGER, size_value INTEGER,"
        " mrate_value REAL, url_value TEXT, charset_value TEXT, udate_value REAL, cdate_value REAL)"
    )
    database.execute("CREATE TABLE secrets (token TEXT)")
    database.execute("INSERT INTO secrets VALUES (?)", (SECRET,))
    database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ROWS)
    return database


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    made = make_database()
    yield made
    made.close()


def content_of(database: sqlite3.Connection) -> str:
    return hashlib.sha256("\n".join(database.iterdump()).encode()).hexdigest()


def compiler() -> Compiler:
    return Compiler(COLUMNS, NOW, MACROS)


def ids(database: sqlite3.Connection, criterions: Criterions) -> list[int]:
    made = compiler().criterions(criterions)
    found = database.execute(f"SELECT id FROM rows{made.sql}", made.parameters)
    return [number for (number,) in found]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("Status = 4", [1]),
        ("`Status`=4 OR urls.Status = 7", [1, 3]),
        ("dc_urls.`urls_%SITE_ID%`.Status = '4'", [1]),
        ("Status IN (1, 4) AND NOT Size > 0", [2]),
        ("Status NOT IN (1, 4)", [3]),
        ("Size BETWEEN 20 AND 1000", [1, 3]),
        ("Size NOT BETWEEN 20 AND 1000", [2]),
        ("URL LIKE 'HTTP://A.%'", [1]),
        (r"URL LIKE '%A\%b\_c'", [2]),
        (r"URL LIKE '%\%c%'", []),
        ("UDate IS NULL", [2]),
        ("Charset IS NOT NULL AND Charset <> ''", [1]),
        ("UDate >= DATE_SUB(NOW(), INTERVAL 1 MINUTE)", [1]),
        ("UDate < NOW() - INTERVAL 1 MINUTE", [3]),
        ("CDate < CURDATE()", [1, 3]),
        ("DATE_ADD(UDate, INTERVAL 15 MINUTE) = NOW()", [3]),
        ("CDate < '2027-01-10'", [3]),
        ("CDate > '2027-01-10 12:00:00' AND CDate > '1970-01-01T00:00:00Z'", [1, 2]),
        ("CDate < DATE_SUB(NOW(), INTERVAL 1 YEAR)", []),
        ("UNIX_TIMESTAMP(UDate) = UNIX_TIMESTAMP() - 10", [1]),
        ("(1 << Status & 144) <> 0", [1, 3]),
        ("Status & 4 AND Status | 8 = 12", [1]),
        ("Size / 3 > 333 && Size % 3 = 1", [1]),
        ("IFNULL(Charset, 'none') = 'none'", [3]),
        ("LENGTH(URL) = 19", [3]),
        ("LOWER(URL) = UPPER(URL) || Status = 1", [2]),
        ("Status = %MANY%", [3]),
        ("Status = %NONE%", []),
        ("Charset = '%SITE_ID%'", []),
        ("-Status = -4", [1]),
        ("~Status = -5", [1]),
        ("TRUE", [1, 2, 3]),
        ("NOT FALSE AND NULL IS NULL", [1, 2, 3]),
        ("", [1, 2, 3]),
    ],
)
def test_conditions_select_what_they_say(database, where, expected):
    assert ids(database, Criterions(where=where, order_by="Status * 0, url")) == expected


def test_order_and_limit(database):
    assert ids(database, Criterions(order_by="Size DESC")) == [1, 3, 2]
    assert ids(database, Criterions(order_by="UDate ASC, Status")) == [2, 3, 1]
    for limit in ("1,1", [1, 1], "1 OFFSET 1"):
        assert ids(database, Criterions(order_by="Size", limit=limit)) == [3]
    for limit in (2, "2", [2]):
        assert ids(database, Criterions(order_by="Size", limit=limit)) == [2, 3]
    assert ids(database, Criterions(limit=0)) == []


def test_a_condition_of_ours_cannot_be_undone_by_that_of_the_request(database):
    own = Compiled("rows.status_value = ? OR 0", (4,))
    made = compiler().criterions(Criterions(where="1 = 1 OR TRUE"), own)
    found = database.execute(f"SELECT id FROM rows{made.sql}", made.parameters).fetchall()
    assert found == [(1,)]


def test_only_columns_of_the_list_can_be_named():
    for where in ("id = 1", "rows.status = 1", "rowid = 1", "status_value = 1", "token = 'x'"):
        with pytest.raises(CriterionError, match="is no column here at character 1"):
            compiler().condition(parse_condition(where))


def test_columns_of_joined_tables_have_their_table_before_them(database):
    columns = allow_list(
        SITE_COLUMNS, {"Id": "rows.url_value", "State": "rows.status_value"}, ["Sites"]
    )
    joined = {**columns.sources, "sites_urls.url": Source("rows.charset_value", Kind.TEXT)}
    compiler = Compiler(Columns(joined, columns.tables), NOW)
    text = "`dc_sites`.`sites`.State = 4 AND sites_urls.URL = 'utf-8' AND Id LIKE 'http%'"
    made = compiler.condition(parse_condition(text))
    found = database.execute(f"SELECT id FROM rows WHERE {made.sql}", made.parameters)
    assert found.fetchall() == [(1,)]
    for other in ("URL = 'x'", "sites_urls.State = 1", "sites_filters.Id = 'x'"):
        with pytest.raises(CriterionError, match="is no column here"):
            compiler.condition(parse_condition(other))


def test_macros_know_case_and_need_a_value():
    compiler = Compiler(COLUMNS, NOW, {"count": 3})
    made = compiler.condition(parse_condition("Size > %count% AND URL LIKE '%COUNT%%count%'"))
    assert made.parameters == (3, "%COUNT%3")
    with pytest.raises(CriterionError, match="%COUNT% has no value"):
        compiler.condition(parse_condition("Size > %COUNT%"))


def test_kinds_are_not_mixed():
    for where in ("URL = Status", "UDate > 5", "URL + 1", "Status = 'four'", "UDate > 'soon'"):
        with pytest.raises(CriterionError, match="is expected where"):
            compiler().condition(parse_condition(where))


def test_queries_of_the_sql_criterion(database):
    tables = {"urls_%site_id%": Table("rows", COLUMNS)}
    for text, expected in (
        ("SELECT COUNT(*) FROM dc_urls.urls_%SITE_ID% WHERE Status = 4", 1),
        ("SELECT MAX(Size) FROM `urls_%SITE_ID%`", 1000),
        ("SELECT SUM(Size) FROM urls_%SITE_ID%", 1020),
        ("SELECT COUNT(Charset) FROM urls_%SITE_ID%", 2),
        ("SELECT URL FROM urls_%SITE_ID% ORDER BY Size DESC LIMIT 1", ROWS[0][4]),
    ):
        made = compile_select(parse_select(text), tables, NOW, MACROS)
        assert database.execute(made.sql, made.parameters).fetchone() == (expected,)
    for text in ("SELECT 1 FROM secrets", "SELECT token FROM urls_%SITE_ID%"):
        with pytest.raises(CriterionError):
            compile_select(parse_select(text), tables, NOW, MACROS)
    with pytest.raises(CriterionError, match="SUM of a number"):
        compile_select(parse_select("SELECT SUM(URL) FROM urls_%SITE_ID%"), tables, NOW, MACROS)


def test_tables_must_be_known():
    selection = parse_criterions(Criterions(tables="dc_sites.sites_properties, `sites_urls`"))
    check_tables(selection.tables, {"sites_properties", "sites_urls"})
    with pytest.raises(CriterionError, match="secrets"):
        check_tables(("secrets",), {"sites_urls"})


def test_dates_of_objects_may_be_made_of_columns(database):
    made = compiler().moment(parse_moment("DATE_ADD(UDate, INTERVAL 1 HOUR)"))
    found = database.execute(f"SELECT {made.sql} FROM rows WHERE id = 1", made.parameters)
    assert found.fetchone() == (NOW - 10 + 3600,)


# All words that texts of ours may consist of: whatever else is in a statement came from outside.
OWN_WORDS = re.compile(
    r"(?:rows\.(?:status|size|mrate|url|charset|udate|cdate)_value|AND|OR|NOT|IN|IS|NULL|BETWEEN"
    r"|LIKE|ESCAPE '\\'|CAST|AS|INTEGER|REAL|BLOB|ifnull|length|lower|upper|WHERE|ORDER|BY|ASC|DESC"
    r"|LIMIT|OFFSET|\d+|[-+*/%&|~<>=(),? ])+"
)


@pytest.mark.parametrize("part", ["where", "order_by", "limit", "tables", "sql"])
def test_hostile_criterions_change_nothing_and_show_nothing(database, part):
    """At least 200 of them; each is refused, or selects rows of its own table and no more."""
    assert len(set(ATTACKS)) >= 200
    before = content_of(database)
    tables = {"urls": Table("rows", COLUMNS)}
    refusals: list[str] = []
    for attack in ATTACKS:
        given = {"q": attack} if part == "sql" else attack
        try:
            selection = parse_criterions(Criterions(**{part: given}))
            check_tables(selection.tables, {"sites_urls"})
            made = [compiler().selection(selection)]
            made += [compile_select(query, tables, NOW, MACROS) for _, query in selection.queries]
        except CriterionError as error:
            refusals.append(str(error))
            continue
        head, *queries = made
        assert not head.sql or OWN_WORDS.fullmatch(head.sql), attack
        for each in [Compiled(f"SELECT * FROM rows{head.sql}", head.parameters), *queries]:
            assert each.sql.count("?") == len(each.parameters)
            assert SECRET not in repr(database.execute(each.sql, each.parameters).fetchall())
    assert content_of(database) == before
    assert len(refusals) > 150
    assert max(map(len, refusals)) < 500


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-70, 70),
    st.floats(allow_nan=False, width=64),
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8) | st.text(
    "aAbB%_\\ k\u212a", max_size=6
)
MOMENTS = st.floats(-62_000_000_000, 253_000_000_000) | st.integers(0, 2_000_000_000).map(float)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def number_literals() -> st.SearchStrategy[str]:
    return st.one_of(
        st.integers(-(2**63) + 1, 2**63 - 1).map(str),
        st.integers(-3, 70).map(str),
        st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: f"{number:.4f}"),
        st.sampled_from(["1e999", "0.5", "%MANY%", "NULL", "TRUE"]),
    )


TEXT_PARTS = st.recursive(
    st.one_of(st.sampled_from(["URL", "Charset", "urls.URL", "NULL"]), TEXTS.map(quoted)),
    lambda inner: st.one_of(
        inner.map("LOWER({})".format),
        inner.map("UPPER({})".format),
        st.tuples(inner, inner).map(lambda two: "IFNULL({}, {})".format(*two)),
    ),
    max_leaves=3,
)
NUMBER_PARTS = st.recursive(
    st.one_of(st.sampled_from(["Status", "Size", "MRate"]), number_literals()),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "<<", ">>"]), inner
        ).map(lambda three: "({} {} {})".format(*three)),
        inner.map("-{}".format),
        inner.map("~({})".format),
        TEXT_PARTS.map("LENGTH({})".format),
        st.tuples(inner, inner).map(lambda two: "IFNULL({}, {})".format(*two)),
    ),
    max_leaves=6,
)
MOMENT_PARTS = st.one_of(
    st.sampled_from(["UDate", "CDate", "NOW()", "CURDATE()", "'2026-02-28 10:00:00'", "NULL"]),
    st.builds(
        "DATE_{}({}, INTERVAL {} {})".format,
        st.sampled_from(["ADD", "SUB"]),
        st.sampled_from(["UDate", "NOW()", "'2024-02-29'"]),
        NUMBER_PARTS,
        st.sampled_from(["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"]),
    ),
)
COMPARISONS = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="])
ATOMS = st.one_of(
    *(
        st.one_of(
            st.builds("{} {} {}".format, parts, COMPARISONS, parts),
            st.builds(
                "{} {}IN ({}, {})".format, parts, st.sampled_from(["", "NOT "]), parts, parts
            ),
            st.builds(
                "{} {}BETWEEN {} AND {}".format, parts, st.sampled_from(["", "NOT "]), parts, parts
            ),
            st.builds("{} IS {}NULL".format, parts, st.sampled_from(["", "NOT "])),
        )
        for parts in (NUMBER_PARTS, TEXT_PARTS, MOMENT_PARTS)
    ),
    st.builds("{} {}LIKE {}".format, TEXT_PARTS, st.sampled_from(["", "NOT "]), TEXTS.map(quoted)),
    NUMBER_PARTS,
    MOMENT_PARTS.map(lambda moment: f"UNIX_TIMESTAMP({moment}) > Size"),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR", "&&", "||"]), inner),
        inner.map("NOT ({})".format),
    ),
    max_leaves=5,
)
ROW = st.fixed_dictionaries(
    {
        "status": st.none() | st.integers(-(2**63), 2**63 - 1),
        "size": st.none() | st.integers(0, 10**6),
        "mrate": st.none() | st.floats(allow_nan=False),
        "url": st.none() | TEXTS,
        "charset": st.none() | TEXTS,
        "udate": st.none() | MOMENTS,
        "cdate": st.none() | MOMENTS,
    }
)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(CONDITIONS, ROW)
def test_the_database_computes_what_the_tree_means(text, row):
    try:
        node = parse_condition(text)
        definite = resolve_condition(node, Scope(KINDS, NOW, COLUMNS.tables, MACROS))
        made = compiler().condition(node)
    except CriterionError:
        return
    with sqlite3.connect(":memory:") as database:
        database.execute(
            "CREATE TABLE rows (status_value INTEGER, size_value INTEGER, mrate_value REAL,"
            " url_value TEXT, charset_value TEXT, udate_value REAL, cdate_value REAL)"
        )
        database.execute(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", [row[name] for name in KINDS]
        )
        (found,) = database.execute(f"SELECT {made.sql} FROM rows", made.parameters).fetchone()
    database.close()
    assert found == evaluate(definite, row), made.sql


def both(text: str, database: sqlite3.Connection) -> tuple[object, object]:
    """Return what the database and what the tree compute."""
    node = parse_condition(text)
    definite = resolve_condition(node, Scope(KINDS, NOW))
    made = compiler().condition(node)
    (found,) = database.execute(f"SELECT {made.sql}", made.parameters).fetchone()
    return found, evaluate(definite, {})


LIKE_TEXTS = st.text("abAB%_\\\u212akK", max_size=8)


@given(LIKE_TEXTS, LIKE_TEXTS)
def test_like_is_that_of_the_database(text, pattern):
    database = sqlite3.connect(":memory:")
    found, meant = both(f"{quoted(text)} LIKE {quoted(pattern)}", database)
    database.close()
    assert found == meant


EDGES = [
    "0",
    "1",
    "-1",
    "2",
    "63",
    "64",
    "65",
    "-63",
    "-64",
    "-65",
    "0.5",
    "-2.5",
    "1e300",
    "1e999",
    "-1e999",
    "NULL",
]
EDGES += ["9223372036854775807", "-9223372036854775807", "(-9223372036854775807 - 1)"]


@pytest.mark.parametrize(
    "operator", ["+", "-", "*", "/", "%", "&", "|", "<<", ">>", "=", "<", ">="]
)
def test_numbers_at_the_edges_are_those_of_the_database(database, operator):
    for left in EDGES:
        for right in EDGES:
            found, meant = both(f"{left} {operator} {right}", database)
            assert found == meant, (left, operator, right)
    for number in EDGES:
        for sign in ("-", "~", "NOT "):
            found, meant = both(f"{sign}{number}", database)
            assert found == meant, (sign, number)


ANY_WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "Status",
                "URL",
                "UDate",
                "(",
                ")",
                ",",
                ".",
                "'",
                '"',
                "`",
                "%",
                "&",
                "|",
                "<<",
                ">>",
                "!",
                "~",
                "-",
                "+",
                "*",
                "/",
                "=",
                "<>",
                "IN",
                "NOT",
                "AND",
                "OR",
                "IS",
                "NULL",
                "LIKE",
                "BETWEEN",
                "INTERVAL",
                "DAY",
                "NOW()",
                "DATE_ADD(",
                "SELECT",
                "FROM",
                "--",
                ";",
                "/*",
                "\\",
                "%SITE_ID%",
                "1",
                "'a'",
                "\x00",
                "é",
            ]
        ),
        st.text(max_size=5),
    ),
    max_size=30,
).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(ANY_WORDS)
def test_whatever_is_written_is_understood_or_named(text):
    database = make_database()
    for part in ("where", "order_by", "limit", "tables"):
        try:
            made = compiler().criterions(Criterions(**{part: text}))
        except CriterionError:
            continue
        database.execute(f"SELECT * FROM rows{made.sql}", made.parameters).fetchall()
    database.close()


def test_the_largest_conditions_still_run(database):
    for operator in ("AND", "OR"):
        made = compiler().condition(parse_condition(f" {operator} ".join(["Size"] * 900)))
        database.execute(f"SELECT id FROM rows WHERE {made.sql}", made.parameters).fetchall()
    many = ", ".join(str(number) for number in range(1_500))
    made = compiler().condition(parse_condition(f"Status IN ({many})"))
    assert len(made.parameters) == 1_500
    assert database.execute(f"SELECT id FROM rows WHERE {made.sql}", made.parameters).fetchall()


def test_order_by_is_made_of_expressions_too():
    made = compiler().order(parse_order("Status & 4 DESC, LENGTH(URL)"))
    assert made.sql.startswith(" ORDER BY ")
    assert made.parameters == (4,)
