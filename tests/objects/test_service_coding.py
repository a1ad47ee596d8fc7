"""Objects from JSON and to JSON: names, defaults, shapes, and errors that name the place."""

import hashlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.objects.answers import ClientResponse, GeneralResponse
from gossamer.objects.batch import Batch, BatchItem
from gossamer.objects.coding import (
    decode,
    decode_answer,
    decode_object,
    decode_response,
    dumps,
    encode,
)
from gossamer.objects.content import URLContentRequest, URLFetch
from gossamer.objects.criterions import parse_moment
from gossamer.objects.enumerations import (
    HOST_OPERATIONS,
    FilterType,
    Operation,
    ResponseItemError,
    SiteState,
    response_code,
)
from gossamer.objects.moments import epoch_of, iso_moment
from gossamer.objects.operations import FORMS, HOST_FORMS, form_of
from gossamer.objects.problems import CriterionError, ObjectError, UnsupportedError
from gossamer.objects.resolution import moment_at
from gossamer.objects.site import Filter, Property, Site, SiteUpdate
from gossamer.objects.url import URL

NOW = 1_800_000_000.0


def test_the_operations_of_the_document_have_their_codes():
    codes = "SITE_NEW 1 SITE_UPDATE 2 SITE_STATUS 3 SITE_DELETE 4 SITE_CLEANUP 5 URL_NEW 6 "
    codes += "URL_UPDATE 7 URL_STATUS 8 URL_DELETE 9 URL_FETCH 10 URL_CLEANUP 11 URL_CONTENT 12 "
    codes += "SITE_FIND 15 SQL_CUSTOM 16 BATCH 17 URL_PURGE 18 URL_AGE 21 URL_PUT 22 ATTR_SET 30 "
    codes += "ATTR_UPDATE 31 ATTR_DELETE 32 ATTR_FETCH 33"
    words = codes.split()
    for name, code in zip(words[::2], words[1::2], strict=True):
        assert Operation[name] == int(code)
        assert response_code(Operation[name]) == int(code) + 100


def test_every_operation_on_urls_and_attributes_has_its_objects():
    names = ["CLEANUP", "CONTENT", "DELETE", "FETCH", "NEW", "STATUS", "UPDATE", "PURGE", "AGE"]
    for operation in [Operation[f"URL_{name}"] for name in names]:
        assert FORMS[operation].is_list
    for operation in [Operation[f"ATTR_{name}"] for name in ["SET", "UPDATE", "DELETE", "FETCH"]]:
        assert FORMS[operation].is_list
    unused = {Operation.RESOURCE_FETCH, Operation.RESOURCE_DELETE}
    assert set(Operation) - set(FORMS) - set(HOST_FORMS) == unused
    assert set(HOST_FORMS) == HOST_OPERATIONS
    with pytest.raises(UnsupportedError, match="RESOURCE_FETCH"):
        form_of(Operation.RESOURCE_FETCH)


SITE_FIELDS = [
    "id",
    "cDate",
    "uDate",
    "tcDate",
    "tcDateProcess",
    "resources",
    "contents",
    "collectedURLs",
    "newURLs",
    "deletedURLs",
    "iterations",
    "state",
    "priority",
    "maxURLs",
    "maxResources",
    "maxErrors",
    "maxResourceSize",
    "maxURLsFromPage",
    "requestDelay",
    "processingDelay",
    "httpTimeout",
    "errorMask",
    "errors",
    "size",
    "avgSpeed",
    "avgSpeedCounter",
    "urlType",
    "description",
    "userId",
    "categoryId",
    "recrawlPeriod",
    "recrawlDate",
    "fetchType",
    "moveURLs",
    "urls",
    "filters",
    "properties",
]
URL_FIELDS = [
    "siteId",
    "url",
    "urlMd5",
    "type",
    "state",
    "status",
    "siteSelect",
    "crawled",
    "processed",
    "contentType",
    "charset",
    "requestDelay",
    "processingDelay",
    "httpTimeout",
    "batchId",
    "errorMask",
    "crawlingTime",
    "processingTime",
    "totalTime",
    "httpCode",
    "httpMethod",
    "size",
    "linksI",
    "linksE",
    "freq",
    "depth",
    "rawContentMd5",
    "parentMd5",
    "contentURLMd5",
    "lastModified",
    "eTag",
    "mRate",
    "mRateCounter",
    "UDate",
    "CDate",
    "tcDate",
    "pDate",
    "maxURLsFromPage",
    "contentMask",
    "tagsMask",
    "tagsCount",
    "priority",
    "classifierMask",
    "urlUpdate",
    "urlPut",
    "chainId",
    "attributes",
]


def names_of(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_fields_have_the_names_of_the_document():
    assert names_of(Site) == set(SITE_FIELDS)
    assert names_of(SiteUpdate) == {*SITE_FIELDS, "updateType", "criterions"}
    assert names_of(URL) == set(URL_FIELDS)
    assert names_of(Batch) == {
        "id",
        "crawlerType",
        "items",
        "errorMask",
        "dbMode",
        "maxIterations",
        "maxItems",
        "maxExecutionTime",
        "removeUnprocessedItems",
    }
    assert names_of(BatchItem) == {
        "siteId",
        "urlId",
        "urlObj",
        "properties",
        "urlPutObj",
        "urlContentResponse",
        "siteObj",
        "depth",
    }
    assert names_of(URLContentRequest) == {
        "siteId",
        "url",
        "urlMd5",
        "contentTypeMask",
        "urlFetch",
        "attributeNames",
        "dbFieldsList",
        "dbFieldsListDefaultValues",
    }


def test_defaults_are_those_of_the_tables():
    site = Site()
    assert (site.state, site.priority, site.request_delay) == (SiteState.ACTIVE, 100, 500)
    assert (site.http_timeout, site.max_urls, site.recrawl_period) == (30_000, 0, 0)
    (only,) = site.filters
    assert (only.pattern, only.type, only.stage, only.action) == ("(.*)", FilterType.INCLUDE, 5, 1)
    assert {each.name: each.value for each in site.properties} == {
        "PROCESS_CTYPES": "text/html",
        "STORE_HTTP_REQUEST": "1",
        "STORE_HTTP_HEADERS": "1",
        "HTTP_HEADERS": "",
        "HTTP_COOKIE": "",
    }
    url = URL(url="x")
    assert (url.state, url.status, url.site_select, url.http_method) == (0, 1, 3, "get")
    fetch = URLFetch()
    assert (fetch.max_urls, fetch.urls_criterions.limit, fetch.is_locking) == (20, 20, True)
    assert URLContentRequest(url="x").content_type_mask == 3
    assert len(URLContentRequest(url="x").db_fields_list) == 21


def test_a_site_needs_an_id_or_a_root_url_and_nothing_else():
    site = decode(Operation.SITE_NEW, b'{"urls": ["HTTP://Example.ORG"]}')
    assert isinstance(site, Site)
    assert site.id == hashlib.md5(b"http://example.org/").hexdigest()
    assert decode(Operation.SITE_NEW, '{"id": "0"}').id == "0"
    with pytest.raises(ObjectError, match=r"Site\.id: an id, or a root URL in urls"):
        decode(Operation.SITE_NEW, "{}")


def test_strict_reading_needs_every_field():
    with pytest.raises(ObjectError, match=r"Site\.cDate: it is missing"):
        decode(Operation.SITE_NEW, '{"id": "a"}', strict=True)
    whole = encode(Site(id="a", urls=["http://a.example/"]))
    assert decode(Operation.SITE_NEW, whole, strict=True) == decode(Operation.SITE_NEW, whole)


@pytest.mark.parametrize(
    ("operation", "data", "kind", "field", "expected"),
    [
        (Operation.SITE_NEW, '{"id": "a", "foo": 1}', "Site", "foo", "no such field"),
        (Operation.SITE_NEW, '{"id": "../../x"}', "Site", "id", "letters, digits"),
        (Operation.SITE_NEW, '{"id": "a", "priority": "x"}', "Site", "priority", "`int`"),
        (Operation.SITE_NEW, '{"id": "a", "maxURLs": -1}', "Site", "maxURLs", ">= 0"),
        (Operation.SITE_NEW, f'{{"id": "a", "size": {2**64}}}', "Site", "size", "<="),
        # One more crawl, or the sizes of some URLs together, would be more than a column can hold.
        (Operation.URL_NEW, {"url": "x", "crawled": 2**63 - 1}, "URL", "[0].crawled", "<="),
        (Operation.URL_NEW, {"url": "x", "size": 2**60}, "URL", "[0].size", "<="),
        (Operation.URL_UPDATE, {"depth": 2**63 - 1}, "URLUpdate", "[0].depth", "<="),
        # Its next re-crawl would have a date that no calendar can write.
        (
            Operation.SITE_NEW,
            f'{{"id": "a", "recrawlPeriod": {2**40}}}',
            "Site",
            "recrawlPeriod",
            "<=",
        ),
        (Operation.SITE_NEW, '{"id": "a", "state": 44}', "Site", "state", "enum value 44"),
        (Operation.SITE_NEW, '{"id": "a", "urls": [1]}', "Site", "urls[0]", "str"),
        (Operation.SITE_NEW, '{"urls": ["ftp://a/"]}', "URL", "url", "http or https"),
        (Operation.SITE_NEW, '{"id": "a", "cDate": "soon("}', "Site", "cDate", "a date"),
        (Operation.SITE_NEW, '{"id": "a", "cDate": {"x": 1}}', "Site", "cDate", "a date"),
        (Operation.SITE_NEW, {"id": "a", "cDate": "x" * 300}, "Site", "cDate", "at most 200"),
        (Operation.SITE_NEW, {"id": "a", "cDate": "2026-02-30"}, "Site", "cDate", "a date"),
        (Operation.SITE_NEW, {"id": "a", "cDate": "Status"}, "Site", "cDate", "a date"),
        (Operation.SITE_NEW, {"id": "a", "cDate": "token"}, "Site", "cDate", "no column"),
        (Operation.SITE_NEW, '{"id": "a", "cDate": 7}', "Site", "cDate", "a date"),
        (Operation.SITE_NEW, "[", "Site", "", "JSON"),
        (Operation.SITE_NEW, b"\xff", "Site", "", "JSON"),
        (Operation.SITE_NEW, "[" * 100_000, "Site", "", "JSON"),
        (Operation.SITE_NEW, "[]", "Site", "", "`object`"),
        (Operation.SITE_NEW, "null", "Site", "", "`object`"),
        (
            Operation.SITE_NEW,
            '{"id": "a", "filters": [{"type": 1, "action": -1}]}',
            "Site",
            "filters[0]",
            "say the same",
        ),
        (
            Operation.SITE_NEW,
            '{"id": "a", "filters": [{"action": 0}]}',
            "Site",
            "filters[0]",
            "above 0",
        ),
        (
            Operation.SITE_NEW,
            '{"id": "a", "properties": [{"name": "A"}, {"x": 1}]}',
            "Site",
            "properties",
            "[1].x: there is no such field",
        ),
        (Operation.SITE_NEW, '{"id": "a", "properties": 3}', "Site", "properties", "a list"),
        (
            Operation.SITE_NEW,
            '{"id": "a", "properties": {"A": [1, 2]}}',
            "Site",
            "properties",
            "[siteId, value, urlMd5]",
        ),
        (Operation.SITE_STATUS, "{}", "SiteStatus", "id", "missing"),
        (Operation.SITE_DELETE, "{}", "SiteDelete", "[0]", "id or criterions"),
        (Operation.URL_NEW, '[{"url": "a"}, {}]', "URL", "[1].url", "missing"),
        (Operation.URL_DELETE, "{}", "URLDelete", "[0]", "url or criterions"),
        (Operation.URL_CLEANUP, '{"siteId": "a"}', "URLCleanup", "[0]", "url or criterions"),
        (Operation.URL_PURGE, "{}", "URLPurge", "[0]", "siteId or siteLimits"),
        (Operation.URL_CONTENT, "{}", "URLContentRequest", "[0]", "urlFetch"),
        (
            Operation.URL_FETCH,
            '{"criterions": {}, "urlsCriterions": {}}',
            "URLFetch",
            "criterions",
            "another name",
        ),
        (Operation.ATTR_SET, '{"name": ""}', "Attribute", "[0].name", "length"),
        (Operation.ATTR_DELETE, "{}", "AttributeDelete", "[0]", "name or criterions"),
        (Operation.PROXY_DELETE, "{}", "ProxyDelete", "[0]", "host or criterions"),
        (Operation.SQL_CUSTOM, "{}", "CustomRequest", "query", "missing"),
    ],
)
def test_what_is_wrong_is_named(operation, data, kind, field, expected):
    with pytest.raises(ObjectError) as caught:
        decode(operation, data)
    assert (caught.value.kind, caught.value.field) == (kind, field)
    assert expected in caught.value.expected
    assert len(str(caught.value)) < 600


def test_properties_are_read_from_three_shapes_and_written_as_a_list():
    shapes = [
        [{"name": "A", "value": "1"}, {"name": "B", "value": "x", "urlMd5": "m", "siteId": "s"}],
        {"A": "1", "B": ["s", "x", "m"]},
        {"A": 1, "B": ["s", "x", "m"]},
    ]
    sites = [decode(Operation.SITE_NEW, {"id": "a", "properties": shape}) for shape in shapes]
    assert sites[0].properties == sites[1].properties == sites[2].properties
    assert sites[0].properties[1] == Property(name="B", value="x", url_md5="m", site_id="s")
    written = json.loads(encode(sites[1]))["properties"]
    assert [each["name"] for each in written] == ["A", "B"]


def test_a_value_that_is_a_map_becomes_its_json():
    site = decode(Operation.SITE_NEW, {"id": "a", "properties": {"template": {"templates": []}}})
    assert site.properties[0].value == '{"templates":[]}'


def test_type_and_action_of_a_filter_follow_each_other():
    assert (Filter(type=FilterType.EXCLUDE).action, Filter(action=-5).type) == (-1, 0)
    assert (Filter(type=FilterType.INCLUDE).action, Filter(action=3).type) == (1, 1)
    assert Filter().includes


def test_other_names_are_accepted():
    (fetch,) = decode(Operation.URL_FETCH, {"criterions": {"WHERE": "Status = 4"}})
    assert fetch.urls_criterions.where == "Status = 4"
    (content,) = decode(Operation.URL_CONTENT, {"urlFetch": {"criterions": {"LIMIT": [1, 2]}}})
    assert content.url_fetch.urls_criterions.limit == [1, 2]
    (cleanup,) = decode(Operation.SITE_CLEANUP, {"id": "a", "moveUrls": 0, "saveRootUrls": 0})
    assert (cleanup.move_urls, cleanup.save_root_urls) == (False, False)
    answer = decode_answer(Operation.URL_NEW, {"errorCode": 0, "states": [0, 2]})
    assert answer == GeneralResponse(statuses=[0, 2])


def test_one_object_is_read_as_a_list_of_one_where_there_is_a_list():
    one = decode(Operation.URL_STATUS, {"url": "a"})
    assert one == decode(Operation.URL_STATUS, [{"url": "a"}])


@pytest.mark.parametrize("operation", sorted([*FORMS, *HOST_FORMS]))
def test_every_request_goes_through_json_and_back(operation):
    form = form_of(operation)
    needed = {
        "url": "http://a.example/",
        "id": "a",
        "name": "A",
        "host": "p.example:8080",
        "query": "SELECT 1",
        "criterions": {"LIMIT": 1},
        "siteId": "a",
    }
    data = {name: value for name, value in needed.items() if name in names_of(form.request)}
    if operation in (Operation.PROXY_NEW, Operation.PROXY_UPDATE):
        data["id"] = 7
    if form.request is Batch:
        data = {"items": [{"urlId": "00", "urlObj": {"url": "http://a.example/"}}]}
    request = decode(operation, data)
    assert decode(operation, encode(request)) == request
    assert decode(operation, dumps(request)) == request


def test_json_for_people_is_sorted_and_indented():
    text = dumps(GeneralResponse(error_message="\u202ex"))
    assert text == (
        '{\n    "errorCode": 0,\n    "errorMessage": "\\u202ex",\n    "statuses": []\n}'
    )


def test_answers_are_restored_or_marked():
    items = [
        {"itemObject": {"id": "a"}, "host": "h"},
        {"itemObject": {"nonsense": 1}},
        {"itemObject": None, "errorCode": 2},
    ]
    response = decode_response(Operation.SITE_STATUS, {"errorCode": 0, "itemsList": items})
    assert isinstance(response, ClientResponse)
    first, second, third = response.items_list
    assert first.item_object == Site(id="a")
    assert second.error_code == ResponseItemError.NOT_RESTORED
    assert "nonsense" in second.error_message
    assert third.error_code == 2


def test_lists_of_answers_are_restored():
    answer = decode_answer(Operation.URL_STATUS, [{"url": "http://a.example/", "status": 4}])
    assert answer == [URL(url="http://a.example/", status=4)]
    failed = decode_answer(Operation.URL_STATUS, {"errorCode": 2021, "statuses": []})
    assert failed == GeneralResponse(error_code=2021)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-15 08:00:00", NOW),
        ("2027-01-15T08:00:00Z", NOW),
        ("2027-01-15T10:00:00+02:00", NOW),
        ("2027-01-15", NOW - 8 * 3600),
        ("NOW()", NOW),
        ("now( )", NOW),
        ("DATE_SUB(NOW(), INTERVAL 1 DAY)", NOW - 86_400),
        ("DATE_ADD('2024-01-31', INTERVAL 1 MONTH)", epoch_of("2024-02-29")),
        ("DATE_SUB('2024-02-29', INTERVAL 1 YEAR)", epoch_of("2023-02-28")),
        ("CURDATE()", NOW - 8 * 3600),
        ("NULL", None),
    ],
)
def test_dates_are_literal_or_expressions(text, expected):
    assert moment_at(parse_moment(text), NOW) == expected
    (update,) = decode(Operation.URL_UPDATE, {"UDate": {"str": text}})
    assert update == decode(Operation.URL_UPDATE, {"UDate": text})[0]


def test_a_date_made_of_columns_has_no_value_by_itself():
    with pytest.raises(CriterionError, match="no column"):
        moment_at(parse_moment("UDate"), NOW)


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_written_dates_are_read_again(epoch):
    assert epoch_of(iso_moment(epoch)) == epoch


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*SITE_FIELDS, *URL_FIELDS, "criterions", "WHERE", "str", "items", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted([*FORMS, *HOST_FORMS])), JSON)
def test_whatever_comes_is_an_object_or_a_named_error(operation, data):
    for reading in (data, json.dumps(data)):
        try:
            request = decode(operation, reading)
        except ObjectError:
            continue
        assert decode(operation, encode(request)) == request


@given(
    st.sampled_from(sorted([*FORMS, *HOST_FORMS])), st.binary(max_size=50) | st.text(max_size=50)
)
def test_no_bytes_raise_anything_else(operation, data):
    for reader in (decode, decode_answer, decode_response):
        try:
            reader(operation, data)
        except ObjectError:
            continue


def test_objects_of_other_kinds_are_read_too():
    batch = decode_object(Batch, b'{"id": 5, "items": [{"urlId": "x", "siteObj": {}}]}')
    assert batch.items[0].site_obj == SiteUpdate()
