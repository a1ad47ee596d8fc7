"""Pages that people wrote are read alike by skimming and by tree; most of them are skimmed."""

from pathlib import Path

import pytest
from skim_rig import assert_agrees, compiled_only, skimmed

pytestmark = compiled_only
DOCUMENTATION = {
    "python3.11-doc": "/usr/share/doc/python3.11/html",
    "postgresql-doc-15": "/usr/share/doc/postgresql-doc-15/html",
    "git-doc": "/usr/share/doc/git-doc",
    "libtiff-doc": "/usr/share/doc/libtiff-doc/manual",
}
PAGES_OF_EACH = 60


@pytest.fixture(scope="module", params=DOCUMENTATION)
def bodies(request: pytest.FixtureRequest) -> list[bytes]:
    files = sorted(Path(DOCUMENTATION[request.param]).rglob("*.html"))
    if not files:
        pytest.skip(f"apt install {request.param}")
    chosen = files[:: len(files) // PAGES_OF_EACH + 1]
    return [file.read_bytes() for file in chosen if file.is_file()]


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
