"""The one-byte codes: every status and every outcome has one, and the way back is as documented."""

import re
from pathlib import Path

import pytest

from gossamer.outcomes import Outcome
from gossamer.wire.enumerations import (
    Specific,
    http_enumeration,
    outcome_of,
    specific_of,
    status_of,
    success_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "wire.md"
# Written out once more from the protocol document, so that a slip in the ranges is seen.
KNOWN = {
    100: 1,
    101: 2,
    102: 3,
    103: 4,
    200: 10,
    201: 11,
    202: 12,
    203: 13,
    204: 14,
    205: 15,
    206: 16,
    207: 17,
    208: 18,
    226: 19,
    300: 30,
    301: 31,
    302: 32,
    303: 33,
    304: 34,
    305: 35,
    306: 36,
    307: 37,
    308: 38,
    400: 60,
    401: 61,
    403: 63,
    404: 64,
    410: 70,
    418: 78,
    421: 81,
    426: 86,
    429: 89,
    431: 91,
    451: 95,
    500: 120,
    501: 121,
    502: 122,
    503: 123,
    504: 124,
    505: 125,
    508: 128,
    511: 131,
    520: 140,
    525: 145,
    530: 150,
    199: 250,
    299: 251,
    399: 252,
    450: 253,
    599: 254,
    0: 0,
    600: 255,
    999: 255,
    42: 255,
    -1: 255,
}


@pytest.mark.req("S0.35")
@pytest.mark.parametrize("status", KNOWN)
def test_statuses_have_the_documented_numbers(status):
    assert http_enumeration(status) == KNOWN[status]


@pytest.mark.req("S0.35")
def test_every_registered_status_comes_back():
    """The mapping is invertible for all codes that have a number of their own."""
    own = [status for status in range(1000) if 0 < http_enumeration(status) < 250]
    assert len(own) == 4 + 10 + 9 + 32 + 1 + 12 + 11
    assert len({http_enumeration(status) for status in own}) == len(own)
    assert all(status_of(http_enumeration(status)) == status for status in own)


@pytest.mark.req("S0.35")
def test_every_number_fits_a_byte_and_is_stable():
    """What a byte is read as is written as that byte again; bytes without a meaning are 0."""
    for status in range(-10, 1200):
        assert 0 <= http_enumeration(status) <= 255
    for number in range(256):
        status = status_of(number)
        assert status == 0 or http_enumeration(status) == number
    assert {status_of(number) for number in (0, 5, 9, 20, 29, 39, 59, 92, 96, 151, 249)} == {0}


@pytest.mark.req("S0.35")
def test_codes_without_a_number_keep_their_class():
    for status in range(100, 600):
        assert status_of(http_enumeration(status)) // 100 == status // 100


@pytest.mark.req("S0.34")
def test_specific_codes_have_the_documented_numbers():
    assert {code.name: int(code) for code in Specific} == {
        "OK": 0,
        "REDIRECTED": 1,
        "REDIRECT_LIMIT": 2,
        "TIMED_OUT": 3,
        "NOT_CONNECTED": 4,
        "DNS_FAILURE": 5,
        "TLS_FAILURE": 6,
        "MALFORMED": 7,
        "TOO_LARGE": 8,
        "NOT_ACCEPTABLE": 9,
        "ROBOTS": 10,
        "NOT_MODIFIED": 11,
        "HTTP_ERROR": 12,
        "OTHER": 255,
    }


@pytest.mark.req("S0.34")
@pytest.mark.parametrize(
    ("outcome", "status", "redirect_to", "specific"),
    [
        (Outcome.OK, 200, None, Specific.OK),
        (Outcome.OK, 301, "http://a/", Specific.REDIRECTED),
        (Outcome.OK, 302, "http://a/", Specific.REDIRECTED),
        (Outcome.REDIR_LOOP, 302, None, Specific.REDIRECT_LIMIT),
        (Outcome.REDIR_TOO_MANY, 301, None, Specific.REDIRECT_LIMIT),
        (Outcome.REDIR_BAD, 301, None, Specific.MALFORMED),
        (Outcome.NET_TIMEOUT_TOTAL, 200, None, Specific.TIMED_OUT),
        (Outcome.NET_TIMEOUT_HEADERS, 0, None, Specific.TIMED_OUT),
        (Outcome.NET_SLOW, 200, None, Specific.TIMED_OUT),
        (Outcome.NET_REFUSED, 0, None, Specific.NOT_CONNECTED),
        (Outcome.NET_RESET, 0, None, Specific.NOT_CONNECTED),
        (Outcome.NET_TIMEOUT_CONNECT, 0, None, Specific.NOT_CONNECTED),
        (Outcome.DNS_NXDOMAIN, 0, None, Specific.DNS_FAILURE),
        (Outcome.TLS_EXPIRED, 0, None, Specific.TLS_FAILURE),
        (Outcome.PROTO_CHUNK, 200, None, Specific.MALFORMED),
        (Outcome.BODY_TOO_LARGE, 200, None, Specific.TOO_LARGE),
        (Outcome.BODY_BOMB, 200, None, Specific.TOO_LARGE),
        (Outcome.BODY_ENCODING, 200, None, Specific.NOT_ACCEPTABLE),
        (Outcome.POLICY_ROBOTS, 0, None, Specific.ROBOTS),
        (Outcome.NOT_MODIFIED, 304, None, Specific.NOT_MODIFIED),
        (Outcome.HTTP_4XX, 404, None, Specific.HTTP_ERROR),
        (Outcome.HTTP_429, 429, None, Specific.HTTP_ERROR),
        (Outcome.HTTP_5XX, 503, None, Specific.HTTP_ERROR),
        (Outcome.POLICY_PRIVATE_ADDRESS, 0, None, Specific.OTHER),
        (Outcome.INTERNAL, 0, None, Specific.OTHER),
    ],
)
def test_outcomes_have_the_specific_code_that_tells_most(outcome, status, redirect_to, specific):
    assert specific_of(outcome, status, redirect_to) is specific


@pytest.mark.parametrize("outcome", Outcome, ids=lambda outcome: outcome.name)
def test_the_way_there_and_back_keeps_the_family(outcome):
    """An outcome that came through the codes has the same codes again: nothing drifts."""
    for status in (0, 200, 302, 304, 404, 429, 503, 999):
        code = specific_of(outcome, status, None)
        back = outcome_of(code, status)
        if back is not Outcome.INTERNAL:
            again = specific_of(back, status, None)
            assert again == code or {again, code} <= {
                Specific.OK,
                Specific.HTTP_ERROR,
                Specific.NOT_MODIFIED,
                Specific.REDIRECTED,
            }


@pytest.mark.parametrize(
    ("specific", "status", "outcome"),
    [
        (0, 200, Outcome.OK),
        (0, 304, Outcome.NOT_MODIFIED),
        (0, 305, Outcome.REDIR_NONE),
        (0, 404, Outcome.HTTP_4XX),
        (1, 301, Outcome.OK),
        (2, 301, Outcome.REDIR_TOO_MANY),
        (3, 0, Outcome.NET_TIMEOUT_TOTAL),
        (4, 0, Outcome.NET_REFUSED),
        (4, 200, Outcome.BODY_SHORT),
        (5, 0, Outcome.DNS_SERVFAIL),
        (6, 0, Outcome.TLS_HANDSHAKE),
        (7, 0, Outcome.PROTO_NOT_HTTP),
        (7, 200, Outcome.PROTO_FRAMING),
        (7, 301, Outcome.REDIR_BAD),
        (8, 200, Outcome.BODY_TOO_LARGE),
        (9, 200, Outcome.BODY_ENCODING),
        (10, 0, Outcome.POLICY_ROBOTS),
        (11, 304, Outcome.NOT_MODIFIED),
        (12, 429, Outcome.HTTP_429),
        (12, 404, Outcome.HTTP_4XX),
        (12, 500, Outcome.HTTP_5XX),
        (12, 999, Outcome.HTTP_5XX),
        (255, 200, Outcome.INTERNAL),
        (77, 200, Outcome.INTERNAL),
    ],
)
def test_codes_are_read_as_documented(specific, status, outcome):
    assert outcome_of(specific, status) is outcome


@pytest.mark.req("S0.33")
@pytest.mark.parametrize(
    ("outcome", "status", "success"),
    [
        (Outcome.OK, 200, True),
        (Outcome.OK, 204, True),
        (Outcome.NOT_MODIFIED, 304, True),
        (Outcome.OK, 301, False),
        (Outcome.HTTP_4XX, 404, False),
        (Outcome.BODY_TOO_LARGE, 200, False),
        (Outcome.BODY_SHORT, 200, False),
        (Outcome.NET_REFUSED, 0, False),
    ],
)
def test_success_is_a_complete_document_with_a_good_status(outcome, status, success):
    assert success_of(outcome, status) is success


def test_the_page_documents_every_specific_code():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: int(number) for number, name in rows} == {
        code.name: int(code) for code in Specific
    }


def test_the_page_documents_every_range_of_statuses():
    text = PAGE.read_text(encoding="utf-8").partition("### HTTP enumeration")[2]
    rows = re.findall(r"^\| (\d+)(?: to (\d+))? \| (\d+)(?: to (\d+))? \|", text, re.MULTILINE)
    documented = {
        status: int(number) + status - int(first)
        for first, last, number, _ in rows
        for status in range(int(first), int(last or first) + 1)
    }
    own = {n: http_enumeration(n) for n in range(1000) if 0 < http_enumeration(n) < 250}
    assert documented == own
