"""`gossamer site` on real documentation: the map equals an independent reading of the files."""

from pathlib import Path

import pytest
from reference import Reference
from site_rig import Files, Site, site_map

DOCUMENTATION = {
    "python3.11-doc": "/usr/share/doc/python3.11/html",
    "postgresql-doc-15": "/usr/share/doc/postgresql-doc-15/html",
    "git-doc": "/usr/share/doc/git-doc",
    "libtiff-doc": "/usr/share/doc/libtiff-doc/manual",
}


@pytest.mark.parametrize("package", DOCUMENTATION)
@pytest.mark.req("S2.1", "S2.4", "S2.5", "S2.27", "S2.28", "S2.42")
def test_the_map_of_real_documentation_is_complete(package):
    """Every page that can be reached, none that cannot, and on each its assets: 100 %."""
    folder = Path(DOCUMENTATION[package])
    if not (folder / "index.html").is_file():
        pytest.skip(f"apt install {package}")
    files = Files(folder)
    with Site(files) as site:
        found = site_map(site.url(), "--workers", "1")
        reference = Reference(site.url(), files.file_of)
    pages = {each["url"]: each for each in found["pages"] if each["error"] is None}
    assert found["summary"]["complete"]
    assert set(pages) ^ set(reference.pages) == set()
    assert {each["url"] for each in found["errors"]} == reference.missing
    # Each was asked for once, and nothing else was, but robots.txt.
    counts = site.counts()
    assert set(counts.values()) == {1}
    assert len(counts) == len(reference.pages) + len(reference.missing) + 1
    for url, expected in reference.pages.items():
        assets = {(kind, each) for kind, urls in pages[url]["assets"].items() for each in urls}
        assert assets == expected, url
