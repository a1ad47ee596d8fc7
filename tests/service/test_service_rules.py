"""The pure rules of the service: depth of JSON, schedule, counters, variables, fields."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import least_cpu
from gossamer.daemons.endpoints import Endpoint
from gossamer.errors import InputError
from gossamer.objects.answers import ClientResponse, ClientResponseItem, GeneralResponse
from gossamer.objects.enumerations import Operation
from gossamer.objects.extras import CustomResponse
from gossamer.service import counters, envelope, fields, managers, names
from gossamer.service.envelope import Problem, RefusedError
from gossamer.service.exchange import combine, refusal
from gossamer.service.managers import URL_OPERATIONS, target_of
from gossamer.service.schedule import Schedule
from gossamer.service.variables import PollTimeout, Variables

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=30,
)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@given(JSON, st.integers(0, 12))
def test_depth_is_found_without_reading_the_json(value, most):
    for body in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert envelope.is_deeper(body.encode(), most) == (depth_of(value) > most)


@given(st.binary(max_size=200), st.integers(0, 5))
def test_anything_at_all_has_a_defined_outcome(body, most):
    envelope.is_deeper(body, most)
    for read in (envelope.read_request, envelope.read_admin_request):
        problem = None
        try:
            read(body)
        except RefusedError as refusal:
            problem = refusal.problem
        assert problem in {None, Problem.MALFORMED}


def test_a_million_brackets_are_too_deep_and_quickly_told():
    for body in (b"[" * 1_000_000, b"[" * 500_000 + b"]" * 500_000, b'{"a":' * 200_000):
        assert envelope.is_deeper(body, 32)


def test_a_long_text_full_of_brackets_is_not_deep():
    body = json.dumps({"a": "[" * 1000 + '"{' * 1000 + "\\"}).encode()
    assert not envelope.is_deeper(body, 1)


@pytest.mark.parametrize("text", [b'"' * 4_000_000, b'"' + b"\\" * 4_000_000 + b'"'])
def test_nothing_but_quotes_or_backslashes_costs_little_more_than_letters(text):
    letters = b'"' + b"x" * 4_000_000 + b'"'
    usual = least_cpu(lambda: envelope.is_deeper(letters, 32))
    # It was fifty times as much and more, while no other client was heard.
    assert least_cpu(lambda: envelope.is_deeper(text, 32)) < 20 * usual + 0.01


def test_operations_are_known_by_code_and_by_every_name():
    assert envelope.operation_of(1) is Operation.SITE_NEW
    assert envelope.operation_of("F_RECALC") is Operation.FIELD_RECALCULATE
    for name in names.CLIENT_COMMANDS:
        assert isinstance(envelope.operation_of(name), Operation)
    for code in (0, 34, 101, -1, "SITE", "", "site_new"):
        with pytest.raises(RefusedError, match="UNKNOWN_OPERATION"):
            envelope.operation_of(code)


@pytest.mark.req("S3.40")
def test_every_operation_has_one_of_three_targets():
    targets = {operation: target_of(operation) for operation in Operation}
    assert set(targets.values()) == {"URLManager", "SitesManager", "BatchTasksManager"}
    assert targets[Operation.BATCH] == "BatchTasksManager"
    assert all(targets[operation] == "URLManager" for operation in URL_OPERATIONS)
    assert targets[Operation.SITE_NEW] == "SitesManager"
    assert targets[Operation.SQL_CUSTOM] == "SitesManager"


def test_an_answer_that_no_client_would_read_is_refused(monkeypatch):
    monkeypatch.setattr(managers, "MAX_MESSAGE", 10)
    assert bytes(managers.fitting(b"x" * 10)) == b"x" * 10
    with pytest.raises(RefusedError, match="EXECUTION_FAILED: the answer has 11 bytes"):
        managers.fitting(b"x" * 11)


def test_nothing_is_due_before_its_period_is_over():
    schedule = Schedule()
    schedule.set("A", 20.0, now=100.0)
    schedule.set("B", 0.5, now=100.0)
    schedule.set("NEVER", 0.0, now=100.0)
    assert schedule.due(100.4) == []
    assert schedule.wait_seconds(100.4) == pytest.approx(0.1)
    assert schedule.due(100.5) == ["B"]
    schedule.started("B", 100.6)
    assert schedule.due(101.0) == []
    assert schedule.due(121.0) == ["B", "A"]
    schedule.set("A", 0.0, now=121.0)
    assert schedule.due(1e9) == ["B"]


def test_without_periods_there_is_nothing_to_wait_for():
    schedule = Schedule()
    assert schedule.wait_seconds(5.0) is None
    schedule.set("A", 0.0, now=1.0)
    assert schedule.wait_seconds(5.0) is None


@given(
    st.dictionaries(st.sampled_from("ABC"), st.floats(0, 50), min_size=1),
    st.lists(st.floats(0, 20), max_size=30),
)
def test_two_runs_are_never_closer_than_the_period(periods, steps):
    schedule, now = Schedule(), 0.0
    for name, period in periods.items():
        schedule.set(name, period, now)
    last = dict.fromkeys(periods, 0.0)
    for step in steps:
        now += step
        for name in schedule.due(now):
            assert periods[name] > 0
            assert now - last[name] >= periods[name] * (1 - 1e-9)
            schedule.started(name, now)
            last[name] = now
        assert schedule.due(now) == []


def test_counters_are_added_and_gauges_replaced():
    figures = counters.zeros()
    counters.add(figures, {"batches_crawl_total": 2, "batches_crawl_queue": 7, "new_one": 1})
    counters.add(figures, {"batches_crawl_total": 3, "batches_crawl_queue": 4, "new_one": 1})
    assert figures["batches_crawl_total"] == 5
    assert figures["batches_crawl_queue"] == 4
    assert figures["new_one"] == 2


def test_the_counters_that_administrators_know_are_there():
    expected = {
        *("batches_crawl_total", "batches_crawl_queue", "batches_crawl_fault"),
        *("batches_crawl_url_fetch_cancelled", "batches_crawl_urls_ret", "batches_crawl_time_avg"),
        *("sites_recrawl_cnt", "sites_recrawl_drce_cnt", "recrawl_threads", "recrawl_sites_queue"),
        *("purge_batches_canceled", "age_batches_check_fault", "batches_process_cancelled"),
        "common_operations_cnt",
    }
    assert expected <= set(counters.NAMES)


def test_variables_are_set_all_or_none():
    variables = Variables()
    variables.declare("POLL_TIMEOUT", PollTimeout, 1000)
    variables.declare("SUSPENDED", bool, False)
    variables.show({"server.host": "127.0.0.1"})
    assert not variables.set({"POLL_TIMEOUT": 5}).refused
    refused = variables.set({"POLL_TIMEOUT": 7, "SUSPENDED": "maybe"})
    assert refused.refused
    assert "SUSPENDED cannot be 'maybe'" in refused.fields["SUSPENDED"]["error"]
    assert variables["POLL_TIMEOUT"] == 5
    assert variables.set({"POLL_TIMEOUT": 0}).refused
    assert variables.set({"server.host": "::1"}).refused
    assert variables.set({"__class__": 1}).refused
    assert variables.get(["*"]).fields == {
        "server.host": "127.0.0.1",
        "POLL_TIMEOUT": 5,
        "SUSPENDED": False,
    }
    assert variables.get(["POLL_TIMEOUT", "NOPE"]).refused


@pytest.mark.req("S3.186")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0, {"a": 2, "in": {"y": 9, "new": 8}, "list": [3], "z": 1}),
        (1, {"a": 2, "in": {"x": 1, "y": 9}, "list": [3]}),
        (2, {"a": 2, "in": {"x": 1, "y": 9, "new": 8}, "list": [1, 2, 3], "z": 1}),
    ],
)
def test_fields_go_on_top_in_three_modes(mode, expected):
    below = {"a": 1, "in": {"x": 1, "y": 2}, "list": [1, 2]}
    above = {"a": 2, "in": {"y": 9, "new": 8}, "list": [3], "z": 1}
    assert fields.apply_fields(below, above, mode) == expected
    assert fields.apply_fields([below, below], above, mode) == [expected, expected]
    assert below == {"a": 1, "in": {"x": 1, "y": 2}, "list": [1, 2]}


def test_fields_alone_make_the_object():
    assert fields.apply_fields(None, {"a": 1}) == {"a": 1}
    with pytest.raises(InputError, match="JSON object"):
        fields.apply_fields({}, [1])
    with pytest.raises(InputError, match="list of objects"):
        fields.apply_fields(5, {"a": 1})


def test_values_can_come_from_files(tmp_path):
    (tmp_path / "text").write_text("héllo\n", encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff")
    data = {"a": ["file:text", {"b": f"file://{tmp_path}/text"}], "c": "a file: no"}
    # A file of the service, which the client must leave alone.
    assert fields.fill_from_files(["file:file:agents.txt"], tmp_path) == ["file:agents.txt"]
    assert fields.fill_from_files(data, tmp_path) == {
        "a": ["héllo\n", {"b": "héllo\n"}],
        "c": "a file: no",
    }
    for name in ("missing", "bytes", "nul\0"):
        with pytest.raises(fields.DataError):
            fields.fill_from_files([f"file:{name}"], tmp_path)
    deep: list = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(fields.DataError, match="nested"):
        fields.fill_from_files(deep, tmp_path)


@pytest.mark.req("S3.191")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A:1", {"A": 1}),
        ("A:1.5,B:true", {"A": 1.5, "B": True}),
        ('A:"x,y",B:[1, 2],C:{"d": null}', {"A": "x,y", "B": [1, 2], "C": {"d": None}}),
        ("LOG_LEVEL:debug, POLL_TIMEOUT:5", {"LOG_LEVEL": "debug", "POLL_TIMEOUT": 5}),
        ("A:12abc,B:1", {"A": "12abc", "B": 1}),
        ('{"A": 1}', {"A": 1}),
        ("A:__import__('os')", {"A": "__import__('os')"}),
    ],
)
def test_assignments_are_json_or_plain_words(text, expected):
    assert fields.parse_assignments(text) == expected


@pytest.mark.parametrize("text", ["A", "A:1,B", ":1"])
def test_an_assignment_without_a_value_is_refused(text):
    with pytest.raises(InputError, match="name:value"):
        fields.parse_assignments(text)


@pytest.mark.req("S3.184")
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (GeneralResponse(statuses=[0, 2]), None),
        (GeneralResponse(error_code=2020, error_message="duplicate site"), "duplicate site"),
        (GeneralResponse(error_code=2021), "the answer has the error code 2021"),
        (CustomResponse(result=[[1]]), None),
        (CustomResponse(err_string="no such column: x"), "no such column: x"),
        ([], None),
        (None, None),
    ],
)
def test_what_was_refused_is_found_in_the_answer_itself(told, expected):
    good = ClientResponseItem(item_object=GeneralResponse(statuses=[0]))
    items = [good, ClientResponseItem(item_object=told)]
    assert refusal(ClientResponse(items_list=items)) == expected


def test_a_node_that_is_silent_is_named():
    nodes = [Endpoint("127.0.0.1", 5504), Endpoint("127.0.0.1", 9)]
    heard = ClientResponse(items_list=[ClientResponseItem(item_object=GeneralResponse())])
    answer = combine(Operation.SITE_NEW, nodes, [heard, None], None, merge=True)
    (item,) = answer.items_list
    assert (item.error_code, item.error_message) == ("0;2", "TIMEOUT: no answer from 127.0.0.1:9")
