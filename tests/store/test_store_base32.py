from base64 import b32encode

from hypothesis import given
from hypothesis import strategies as st

from gossamer.store.base32 import base32


@given(st.binary(min_size=20, max_size=20))
def test_letters_are_those_of_the_standard_library(digest):
    assert base32(digest) == b32encode(digest)


def test_every_bit_of_a_digest_has_its_place():
    for bit in range(160):
        digest = (1 << bit).to_bytes(20, "big")
        assert base32(digest) == b32encode(digest)
