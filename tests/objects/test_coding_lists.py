"""Lists of objects are read in one step where they can be: it makes no difference to anybody."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.objects.coding import decode
from gossamer.objects.enumerations import Operation
from gossamer.objects.problems import ObjectError

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 2**40),
    st.sampled_from(["", "0", "7", "x", "http://a.example/", "NOW()", "2026-01-01", "ab" * 16]),
    st.lists(st.integers(), max_size=2),
    st.just({"str": "2026-01-01"}),
    st.just({"criterions": {"WHERE": "Status = 1"}}),
)
NAMES = [
    "url", "siteId", "urlMd5", "type", "state", "status", "parentMd5", "CDate", "attributes",
    "urlUpdate", "criterions", "urlsCriterions", "moveUrls", "moveURLs", "id", "delayedType",
    "urlFetch", "maxURLs", "noSuchField",
]  # fmt: skip
OBJECTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
OPERATIONS = ["URL_NEW", "URL_STATUS", "URL_FETCH", "URL_DELETE", "SITE_CLEANUP", "URL_CONTENT"]


def outcome(operation, data):
    try:
        return decode(operation, data)
    except ObjectError as error:
        return str(error)


@given(st.sampled_from(OPERATIONS), st.lists(OBJECTS, max_size=3) | OBJECTS | VALUES)
def test_a_text_gives_what_its_objects_give_one_by_one(name, data):
    operation = Operation[name]
    if not isinstance(data, str):
        assert outcome(operation, json.dumps(data).encode()) == outcome(operation, data)


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("URL_NEW", {"url": "http://a.example/", "CDate": {"str": "2026-01-01"}}),
        ("URL_FETCH", {"criterions": {"WHERE": "Status = 1"}}),
        ("SITE_CLEANUP", {"id": "1", "moveUrls": 0}),
        ("URL_NEW", {"url": "http://a.example/", "state": "1"}),
    ],
)
def test_good_objects_are_read(name, item):
    operation = Operation[name]
    read = decode(operation, json.dumps([item, item]))
    assert isinstance(read, list)
    assert read == decode(operation, [item, item])


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b'[{"url": "a"}, {"url": 5}]', r"URL\[1\]\.url"),
        (b'[{"url": "a"}, {"nope": 5}]', r"URL\[1\]"),
        (b'[{"url": "a"}', "JSON is expected"),
        (b"[" * 5_000 + b"]" * 5_000, "expected"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(data, complaint):
    with pytest.raises(ObjectError, match=complaint):
        decode(Operation.URL_NEW, data)
