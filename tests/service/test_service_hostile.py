"""Hostile clients: whatever they send, they get a named error, and the service goes on."""

import json
import os
import socket
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service_rig import Daemon, item_of

from gossamer.service.zeromq import zmq

ANSWER_MS = 180_000


@contextmanager
def dealer(endpoint, kind=zmq.DEALER):
    with zmq.Context() as context:
        made = context.socket(kind)
        made.setsockopt(zmq.LINGER, 0)
        made.connect(f"tcp://{endpoint}")
        try:
            yield made
        finally:
            made.close()


def exchange(endpoint, *frames: bytes):
    with dealer(endpoint) as end:
        end.send_multipart(list(frames))
        assert end.poll(ANSWER_MS), "no answer"
        return json.loads(end.recv_multipart()[-1])


def error_of(answer) -> str:
    (item,) = answer["response"]["itemsList"]
    assert item["errorCode"] in {1, 2}
    return item["errorMessage"]


def request(operation: object = "SITE_FIND", thing: object = None, **more: object) -> bytes:
    return json.dumps({"operation": operation, "object": thing or {}, **more}).encode()


def is_alive(daemon: Daemon) -> bool:
    answer = exchange(daemon.client, b"", request(id="alive"))
    return answer["id"] == "alive" and answer["response"]["errorCode"] == 0


@pytest.mark.req("S3.9")
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "MALFORMED_MESSAGE"),
        (b"\x00\xff\xfe", "MALFORMED_MESSAGE"),
        (b"not json", "MALFORMED_MESSAGE"),
        (b"null", "MALFORMED_MESSAGE"),
        (b"[]", "MALFORMED_MESSAGE"),
        (b"{}", "MALFORMED_MESSAGE"),
        (b'{"operation": 1}', "MALFORMED_MESSAGE"),
        (b'{"operation": null, "object": {}}', "MALFORMED_MESSAGE"),
        (b'{"operation": 1, "object": {}, "more": 1}', "MALFORMED_MESSAGE"),
        (b'{"operation": 1, "object": {}, "id": 5}', "MALFORMED_MESSAGE"),
        (b'{"operation": 1, "object": {}', "MALFORMED_MESSAGE"),
        (b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07builtins.", "MALFORMED_MESSAGE"),
        (request(id="x" * 1000), "MALFORMED_MESSAGE"),
        (request(0), "UNKNOWN_OPERATION: 0; allowed are 1 (SITE_NEW) to 33 (ATTR_FETCH)"),
        (request(34), "UNKNOWN_OPERATION"),
        (request(10**30), "UNKNOWN_OPERATION"),
        (request("DROP TABLE"), "UNKNOWN_OPERATION: DROP TABLE"),
        (request("RESOURCE_FETCH"), "BAD_OBJECT: cannot use RESOURCE_FETCH"),
        (request("SITE_NEW", [1]), "BAD_OBJECT: cannot use Site"),
        (request("SITE_NEW", {"id": "../x"}), "BAD_OBJECT: cannot use Site.id"),
        (request("SITE_NEW", {"id": "1", "nope": 1}), "BAD_OBJECT: cannot use Site.nope"),
        (request("URL_NEW", [{"url": 5}]), "BAD_OBJECT: cannot use URL[0].url"),
        (request("BATCH", {"items": [{"urlId": "1"}] * 11}), "BAD_OBJECT: cannot use Batch.items"),
        (request("SITE_STATUS", {"id": "fault"}), "EXECUTION_FAILED: the disk is full"),
        (request("SITE_STATUS", {"id": "bug"}), "EXECUTION_FAILED: internal error: ValueError"),
        (b'{"operation": 1, "object": ' + b"[" * 30 + b"]" * 30 + b"}", "MESSAGE_TOO_DEEP"),
        (b"[" * 90_000, "MESSAGE_TOO_DEEP"),
        (b'"' + b"x" * 150_000 + b'"', "MESSAGE_TOO_LONG: 150002 bytes; allowed are 100000"),
    ],
)
def test_a_bad_request_is_answered_with_a_named_error(shared, body, problem):
    assert error_of(exchange(shared.client, b"", body)).startswith(problem)
    assert is_alive(shared)


def test_an_internal_error_keeps_its_details_to_the_log(shared):
    told = error_of(exchange(shared.client, b"", request("SITE_STATUS", {"id": "bug"})))
    assert "a fault of the program" not in told
    assert "ValueError: a fault of the program" in shared.log


def test_too_many_frames_are_refused(shared):
    for frames in ([b"", b"{}", b"{}"], [b"a", b"b"], [b"a"] * 50):
        assert error_of(exchange(shared.client, *frames)).startswith("MALFORMED_MESSAGE")
    assert is_alive(shared)


@pytest.mark.parametrize("name", ["client", "admin"])
def test_a_message_of_a_million_frames_is_refused_like_any_other(shared, name):
    with dealer(getattr(shared, name)) as end:
        for _ in range(1_000_000):
            end.send(b"12345678", zmq.SNDMORE)
        end.send(b"{}")
        assert end.poll(ANSWER_MS), "no answer"
        assert b"MALFORMED_MESSAGE: several frames; one is expected" in end.recv_multipart()[-1]
    assert is_alive(shared)


def test_plain_request_sockets_are_understood(shared):
    with dealer(shared.client, zmq.REQ) as end:
        end.send(request(id="1"))
        assert end.poll(ANSWER_MS)
        assert json.loads(end.recv())["id"] == "1"
    assert exchange(shared.client, request(id="2"))["id"] == "2"


def test_answers_find_their_request_by_its_id(shared):
    with dealer(shared.client) as end:
        for number in range(50):
            operation = "SITE_FIND" if number % 2 else "URL_FETCH"
            end.send_multipart([b"", request(operation, id=str(number))])
        answers = []
        while len(answers) < 50:
            assert end.poll(ANSWER_MS)
            answers.append(json.loads(end.recv_multipart()[-1]))
    assert {answer["id"] for answer in answers} == {str(number) for number in range(50)}
    for answer in answers:
        assert answer["operation"] == (115 if int(answer["id"]) % 2 else 110)


def test_a_message_beyond_all_limits_closes_the_connection_only(shared):
    with dealer(shared.client) as end:
        end.send_multipart([b"", b"x" * 1_000_000])
        assert not end.poll(300)
    assert is_alive(shared)


@pytest.mark.parametrize("name", ["client", "admin"])
def test_what_is_not_zmq_at_all_does_no_harm(shared, name):
    endpoint = getattr(shared, name)
    for talk in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\xff" + b"\x00" * 8 + b"\x01\x7f"):
        with socket.create_connection((endpoint.host, endpoint.port)) as end:
            end.sendall(talk)
    idle = [socket.create_connection((endpoint.host, endpoint.port)) for _ in range(50)]
    assert is_alive(shared)
    assert shared.administer("STAT", ["URLManager"])["URLManager"]["RESTARTS"] == 0
    for end in idle:
        end.close()


def test_clients_that_do_not_wait_for_the_answer_do_no_harm(shared):
    for _ in range(20):
        with dealer(shared.client) as end:
            end.send_multipart([b"", request()])
            end.poll(1)
    assert is_alive(shared)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4))
def test_anything_is_answered(shared, frames):
    answer = exchange(shared.client, *frames)
    assert error_of(answer).startswith(("MALFORMED_MESSAGE", "UNKNOWN_OPERATION"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"{}",
        b"[[[[",
        b'{"command": "REBOOT"}',
        b'{"command": 5}',
        b'{"command": "STAT", "classes": "all"}',
        b'{"command": "STAT", "classes": ["Nobody"]}',
        b'{"command": "GET", "classes": ["URLManager"]}',
        b'{"command": "SET", "classes": ["URLManager"], "fields": ["A"]}',
        b'{"command": "STAT", "extra": 1}',
        b'{"command": "SQL_CUSTOM"}',
        b"[" * 50_000,
        b'"' + b"x" * 150_000 + b'"',
    ],
)
def test_a_bad_command_is_answered_with_a_named_error(shared, body):
    ((thing, error),) = exchange(shared.admin, b"", body)["pairs"]
    assert error == 2
    word = thing["fields"]["error"].split(":")[0]
    assert word in {
        *("MALFORMED_MESSAGE", "UNKNOWN_OPERATION", "MESSAGE_TOO_DEEP", "MESSAGE_TOO_LONG"),
    }
    told = shared.administer("STAT", ["AdminInterfaceServer"], ["RESTARTS"])
    assert told["AdminInterfaceServer"]["RESTARTS"] == 0


@pytest.mark.parametrize("fields", [[], [1], {"A": [1]}, ["1", "2"], ["x"], {"SUSPENDED": []}])
@pytest.mark.parametrize("command", ["STAT", "GET", "SET", "SUSPEND", "SYSTEM", "SQL_CUSTOM"])
def test_odd_fields_do_no_harm(shared, command, fields):
    body = {"command": command, "classes": ["BatchTasksManager"], "fields": fields}
    exchange(shared.admin, b"", json.dumps(body).encode())
    told = shared.administer("SUSPEND", ["BatchTasksManager"], ["0"])
    assert told["BatchTasksManager"]["SUSPENDED"] is False
    told = shared.administer("STAT", ["BatchTasksManager"], ["RESTARTS"])
    assert told["BatchTasksManager"]["RESTARTS"] == 0


def test_more_than_can_be_served_is_told_to_come_later(tmp_path):
    with (
        Daemon(tmp_path, Server={"max_pending_requests": "3"}) as daemon,
        dealer(daemon.client) as end,
    ):
        for number in range(6):
            body = request("SITE_STATUS", {"id": "busy"}, id=str(number))
            end.send_multipart([b"", body])
        refused = []
        for number in range(6):
            if number == 3:
                # All that is too much was refused at once.
                daemon.wake()
            assert end.poll(ANSWER_MS)
            answer = json.loads(end.recv_multipart()[-1])
            (item,) = answer["response"]["itemsList"]
            if item["itemObject"] is None:
                refused.append((answer["id"], item["errorMessage"].split(":")[0]))
        assert refused == [("3", "BUSY"), ("4", "BUSY"), ("5", "BUSY")]


def test_bytes_in_work_are_limited(tmp_path):
    server = {"max_pending_bytes": "2000"}
    with Daemon(tmp_path, Server=server) as daemon, dealer(daemon.client) as end:
        end.send_multipart([b"", request("SITE_STATUS", {"id": "busy"}, id="1")])
        end.send_multipart([b"", request("URL_STATUS", [{"url": "x" * 2000}], id="2")])
        assert end.poll(ANSWER_MS)
        first = json.loads(end.recv_multipart()[-1])
        assert first["id"] == "2"
        assert error_of(first).startswith("BUSY")


def test_batches_wait_in_a_line_that_ends(tmp_path):
    with (
        Daemon(tmp_path, RealTime={"threads": "1", "max_waiting": "1"}) as daemon,
        dealer(daemon.client) as end,
    ):
        for number in range(3):
            batch = {"id": 777, "items": [{"urlId": "a"}]}
            end.send_multipart([b"", request("BATCH", batch, id=str(number))])
        told = {}
        for _ in range(3):
            # The one that has no place is refused first.
            if told:
                daemon.wake()
            assert end.poll(ANSWER_MS)
            answer = json.loads(end.recv_multipart()[-1])
            (item,) = answer["response"]["itemsList"]
            told[answer["id"]] = item["errorMessage"].split(":")[0]
        assert told == {"0": "", "1": "", "2": "BUSY"}


def test_a_service_without_batches_says_so(tmp_path):
    with Daemon(tmp_path, Application={"batches": "", "periodics": ""}) as daemon:
        refused = daemon.call("BATCH", {"items": [{"urlId": "a"}]}, code=1)
        assert "NOT_ALLOWED" in refused["itemsList"][0]["errorMessage"]
        assert item_of(daemon.call("SITE_FIND", {})) == []
