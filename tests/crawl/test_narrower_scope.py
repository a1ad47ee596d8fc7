"""A later run with narrower limits keeps out what waits, and a wider one lets it in again."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from harness import RunGossamer

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb
from gossamer.outcomes import Outcome

FAST = ("--allow-private", "--delay", "0", "--per-host", "4", "--quiet")


def hosts_asked(web: FakeWeb, since: int = 0) -> set[str]:
    return {request.host for request in web.log().requests[since:]}


def open_catalog(workspace: Path) -> SqliteCatalog:
    return SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True)


@pytest.mark.slow
def test_a_narrower_scope_keeps_out_what_waits_until_it_is_widened(
    tmp_path: Path, gossamer: RunGossamer
):
    workspace = tmp_path / "w"
    with FakeWeb(pages=200, hosts=4, seed=5) as web:
        start = web.start_urls[0]

        def run(*flags: str) -> int:
            before = len(web.log().requests)
            gossamer("crawl", start, "--dir", workspace, *FAST, *flags, check=None)
            return before

        run("--scope", "any", "--max-pages", "20")
        with open_catalog(workspace) as catalog:
            waiting = catalog.counts().pending
            assert waiting > 20
        since = run("--scope", "host")
        assert hosts_asked(web, since) == {urlsplit(start).netloc}
        with open_catalog(workspace) as catalog:
            assert catalog.counts().pending == 0
            assert catalog.outcome_counts()[Outcome.POLICY_SCOPE] > 0
            assert catalog.check() == []
        run("--scope", "any")
        with open_catalog(workspace) as catalog:
            assert Outcome.POLICY_SCOPE not in catalog.outcome_counts()
            assert catalog.check() == []
        log, truth = web.log(), web.truth()
    assert judge.missing(log, truth) == set()
    assert judge.refetches(log) == {}


@pytest.mark.slow
def test_a_smaller_depth_keeps_out_what_waits_farther_away(tmp_path: Path, gossamer: RunGossamer):
    workspace = tmp_path / "w"
    with FakeWeb(pages=120, hosts=1, seed=5) as web:
        start = web.start_urls[0]
        gossamer("crawl", start, "--dir", workspace, *FAST, "--max-pages", "8", check=None)
        gossamer("crawl", start, "--dir", workspace, *FAST, "--max-depth", "1", check=None)
        with open_catalog(workspace) as catalog:
            assert catalog.counts().pending == 0
            assert catalog.outcome_counts()[Outcome.POLICY_BUDGET] > 0
            assert all(row.depth <= 1 for row in catalog.rows() if row.fetch is not None)
            assert catalog.check() == []
        gossamer("crawl", start, "--dir", workspace, *FAST)
        assert judge.missing(web.log(), web.truth()) == set()
