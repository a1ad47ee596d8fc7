"""Pages that people wrote are read alike by skimming and by tree; most of them are skimmed."""

import pytest
from skim_rig import DOCUMENTATION, assert_agrees, compiled_only, pages_of, skimmed

pytestmark = compiled_only


@pytest.fixture(scope="module", params=DOCUMENTATION)
def bodies(request: pytest.FixtureRequest) -> list[bytes]:
    return pages_of(request.param)


def test_documentation_is_read_alike(bodies):
    for body in bodies:
        assert_agrees(body)
        assert_agrees(body, charset="")


def test_most_of_documentation_is_skimmed(bodies):
    """Otherwise the tree would be compared with itself, and be built for every page."""
    read = [body for body in bodies if skimmed(body) is not None]
    assert len(bodies) > 20
    assert len(read) > 0.8 * len(bodies)


def test_documentation_cut_short_is_read_alike(bodies):
    for number, body in enumerate(bodies):
        for share in (0.1, 0.35, 0.7):
            assert_agrees(body[: int(len(body) * share) + number])
