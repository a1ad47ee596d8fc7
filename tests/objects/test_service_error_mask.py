"""The bits of the error mask, and which of them an outcome sets."""

import pytest

from gossamer.objects.error_mask import (
    FATAL_MASK,
    MEANINGS,
    ErrorBit,
    bits_in,
    bits_of_outcome,
    described,
    mask_of,
    mask_of_outcome,
)
from gossamer.objects.limits import is_exceeded, limit_mask, limit_of_node
from gossamer.objects.site import Site
from gossamer.outcomes import PAGE_OUTCOMES, Outcome

# Requirement, bit, words of its meaning, an outcome that sets it (None: no fetch ends with it).
DOCUMENT = [
    ("S3.71", 0, "wrong URL", Outcome.POLICY_PORT),
    ("S3.72", 1, "time-out", Outcome.NET_TIMEOUT_TOTAL),
    ("S3.73", 2, "HTTP error", Outcome.HTTP_4XX),
    ("S3.74", 3, "empty content", None),
    ("S3.75", 4, "wrong MIME type", None),
    ("S3.76", 5, "connection error", Outcome.NET_REFUSED),
    ("S3.77", 6, "code page conversion", None),
    ("S3.78", 7, "bad redirection", Outcome.REDIR_BAD),
    ("S3.79", 8, "size error", Outcome.BODY_TOO_LARGE),
    ("S3.80", 9, "authorization", None),
    ("S3.81", 10, "file operation", Outcome.STORE_FAILED),
    ("S3.82", 11, "robots.txt", Outcome.POLICY_ROBOTS),
    ("S3.83", 12, "HTML parse", Outcome.PARSE_FAILED),
    ("S3.84", 13, "bad encoding", Outcome.BODY_ENCODING),
    ("S3.85", 14, "maximum of errors of the site", None),
    ("S3.86", 15, "maximum of resources of the site", None),
    ("S3.87", 16, "raw content not stored", Outcome.STORE_FULL),
    ("S3.88", 17, "maximum of HTTP redirects", Outcome.REDIR_TOO_MANY),
    ("S3.89", 18, "maximum of HTML redirects", None),
    ("S3.90", 32, "maximum of errors of the site reached while processing", None),
    ("S3.91", 33, "maximum of resources of the site reached while processing", None),
    ("S3.92", 34, "content type not supported", None),
    ("S3.93", 35, "cannot be decoded", None),
    ("S3.94", 36, "scraper", None),
]


@pytest.mark.req(
    "S3.71", "S3.72", "S3.73", "S3.74", "S3.75", "S3.76",
    "S3.77", "S3.78", "S3.79", "S3.80", "S3.81", "S3.82",
    "S3.83", "S3.84", "S3.85", "S3.86", "S3.87", "S3.88",
    "S3.89", "S3.90", "S3.91", "S3.92", "S3.93", "S3.94",
)  # fmt: skip
@pytest.mark.parametrize(
    ("bit", "meaning", "outcome"), [row[1:] for row in DOCUMENT], ids=[row[0] for row in DOCUMENT]
)
def test_each_bit_of_the_document_has_its_number_and_meaning(bit, meaning, outcome):
    assert meaning in MEANINGS[ErrorBit(bit)]
    assert described(1 << bit) == [MEANINGS[ErrorBit(bit)]]
    if outcome is not None:
        assert mask_of_outcome(outcome) >> bit & 1


@pytest.mark.req("S3.95")
def test_the_reserved_bits_are_finer_causes_of_fetching_and_no_others():
    """Bits 22 to 30 come with a bit that the document has, so a reader of old masks loses none."""
    reserved = {bit for bit in ErrorBit if 22 <= bit <= 30}
    assert len(reserved) == 9
    for outcome in Outcome:
        bits = set(bits_of_outcome(outcome))
        assert bits - reserved or not bits, outcome


@pytest.mark.parametrize("outcome", Outcome, ids=lambda outcome: outcome.name)
def test_every_outcome_sets_bits_unless_it_is_a_page(outcome):
    bits = bits_of_outcome(outcome)
    if outcome in PAGE_OUTCOMES and outcome is not Outcome.PARSE_FAILED:
        assert bits == ()
    else:
        assert bits
    assert bits_in(mask_of_outcome(outcome)) == sorted(bits)


def test_some_http_codes_say_more():
    assert ErrorBit.FORBIDDEN in bits_of_outcome(Outcome.HTTP_4XX, 403)
    assert ErrorBit.AUTHORIZATION_ERROR in bits_of_outcome(Outcome.HTTP_4XX, 401)
    assert ErrorBit.FORBIDDEN not in bits_of_outcome(Outcome.HTTP_4XX, 404)
    assert bits_of_outcome(Outcome.OK, 403) == ()


def test_the_mask_of_processing_is_bits_0_to_11_and_22():
    assert mask_of(*map(ErrorBit, range(12)), ErrorBit.FETCH_AMBIGUOUS_REQUEST) == FATAL_MASK


def test_masks_are_put_together_and_taken_apart():
    assert mask_of() == 0
    every = mask_of(*ErrorBit)
    assert bits_in(every) == sorted(ErrorBit)
    assert every < 1 << 63
    assert set(MEANINGS) == set(ErrorBit)


def test_a_limit_of_zero_is_none_and_others_are_exceeded_by_more():
    assert not is_exceeded(10**9, 0)
    assert not is_exceeded(5, 5)
    assert is_exceeded(6, 5)


def test_limits_set_their_bit_for_the_crawler_and_for_the_processor():
    site = Site(errors=6, max_errors=5, resources=9, max_resources=9)
    assert limit_mask(site) == 1 << 14
    assert limit_mask(site, processing=True) == 1 << 32
    full = Site(errors=5, max_errors=5, resources=10, max_resources=9)
    assert limit_mask(full) == 1 << 15
    assert limit_mask(full, processing=True) == 1 << 33
    assert limit_mask(Site(errors=6, resources=6)) == 0


def test_limits_are_shared_by_nodes():
    assert [limit_of_node(limit, 3) for limit in (0, 1, 3, 4, 100)] == [0, 1, 1, 2, 34]
    assert limit_of_node(7, 0) == 7
