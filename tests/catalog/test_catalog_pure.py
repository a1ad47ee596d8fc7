"""The pure rules of the catalog: revisit plan, near duplicates, digests, named statements."""

import base64
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gossamer.catalog
from gossamer.catalog.digest import packed_digest, written_digest
from gossamer.catalog.near import DISTANCE, NearDuplicates
from gossamer.catalog.queries import QUERIES, parse_queries
from gossamer.catalog.recrawl import next_interval
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings

SETTINGS = CatalogSettings(
    recrawl_first_seconds=1_000, recrawl_min_seconds=100, recrawl_max_seconds=10_000
)
simhashes = st.integers(0, 2**64 - 1)


class TestRevisitPlan:
    def test_the_first_interval_is_the_configured_one(self):
        assert next_interval(None, changed=False, settings=SETTINGS) == 1_000

    @given(st.lists(st.booleans(), max_size=60))
    def test_the_interval_stays_between_its_bounds(self, changes):
        interval = None
        for changed in changes:
            interval = next_interval(interval, changed=changed, settings=SETTINGS)
            assert 100 <= interval <= 10_000

    @given(st.floats(100, 10_000))
    def test_change_shortens_and_rest_lengthens(self, previous):
        changed = next_interval(previous, changed=True, settings=SETTINGS)
        steady = next_interval(previous, changed=False, settings=SETTINGS)
        assert changed <= previous <= steady


class TestNearDuplicates:
    @given(simhashes, st.sets(st.integers(0, 63), max_size=DISTANCE))
    def test_up_to_three_bits_apart_is_near(self, simhash, bits):
        near = NearDuplicates()
        assert near.place(1, simhash) is None
        assert near.place(2, simhash ^ sum(1 << bit for bit in bits)) == 1

    @given(simhashes, st.sets(st.integers(0, 63), min_size=DISTANCE + 1))
    def test_more_bits_apart_is_not(self, simhash, bits):
        near = NearDuplicates()
        near.place(1, simhash)
        assert near.place(2, simhash ^ sum(1 << bit for bit in bits)) is None

    @given(st.lists(simhashes, max_size=30))
    def test_whoever_is_near_is_near_to_a_leader_that_came_before(self, hashes):
        near = NearDuplicates()
        leaders = {}
        for doc_id, simhash in enumerate(hashes):
            leader = near.place(doc_id, simhash)
            if leader is None:
                distances = [(simhash ^ other).bit_count() for other in leaders.values()]
                assert all(distance > DISTANCE for distance in distances)
                leaders[doc_id] = simhash
            else:
                assert (simhash ^ leaders[leader]).bit_count() <= DISTANCE


class TestDigests:
    @given(st.binary(min_size=20, max_size=20))
    def test_a_sha1_takes_twenty_bytes_and_comes_back(self, raw):
        written = "sha1:" + base64.b32encode(raw).decode()
        assert packed_digest(written) == raw
        assert written_digest(raw) == written

    @given(st.text(min_size=1, max_size=60))
    def test_any_other_kind_comes_back_as_written(self, text):
        assert written_digest(packed_digest(f"md5:{text}")) == f"md5:{text}"

    @pytest.mark.parametrize("text", ["sha1:", "sha1:" + "a" * 32, "sha1:" + "1" * 32])
    def test_what_only_looks_like_a_sha1_is_kept_as_written(self, text):
        assert written_digest(packed_digest(text)) == text

    def test_no_digest_is_the_empty_one(self):
        assert written_digest(None) == ""


# Statements that run while a crawl runs: their cost must not grow with what is known.
HOT = [
    "promote_hosts", "hosts_in_line", "lease_urls", "serve_host_again", "serve_host_up",
    "validators",
    "next_in_line", "next_wait", "leases_of", "release_url", "deaths_of", "release_all_urls",
    "cut_url_waits", "cut_host_waits", "url_facts", "page_facts", "judge_url", "content_owners",
    "known_urls", "shorten_depth", "readmit_url", "recrawls_due", "requeue_url", "host_id_of",
    "count_host", "line_up_host", "count_outcome", "put_host_clock", "park_host", "host_clock",
    "file_id_of", "extend_file", "robots", "totals", "find_content", "url_with_prefix", "doc_id_of",
    "fresh_urls", "retries", "urls_on_probation", "on_probation", "acquit_url", "pending_of",
    "keep_out_url", "is_open", "bodies_after",
]  # fmt: skip


class TestStatements:
    @pytest.mark.parametrize("name", HOT)
    def test_no_hot_statement_reads_a_whole_table_or_sorts(self, name):
        with SqliteCatalog.open(":memory:", CatalogSettings()) as catalog:
            connection = catalog._database.connection
            names = re.findall(r":(\w+)", QUERIES[name])
            values = dict.fromkeys(names, 1) if names else ["1"] * QUERIES[name].count("?")
            plan = [
                row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {QUERIES[name]}", values)
            ]
        partial = ("host_line", "host_waiting", "url_leased")
        for step in plan:
            assert "TEMP B-TREE" not in step, plan
            scans_all = step.startswith("SCAN") and not any(index in step for index in partial)
            small = ("json_each", "total", "CONSTANT ROW")
            assert not scans_all or any(word in step for word in small), plan

    def test_a_file_is_read_by_names(self):
        first = "-- name: one\n-- First.\nSELECT 1\nWHERE 1;\n\n"
        text = f"-- intro\n\n{first}-- name: two\n-- Other.\nSELECT 2;\n"
        assert parse_queries(text) == {"one": "SELECT 1 WHERE 1", "two": "SELECT 2"}

    def test_no_comment_hides_a_statement(self):
        """Statements are folded to one line: a comment inside would hide what follows it."""
        for path in Path(gossamer.catalog.__file__).parent.glob("*.sql"):
            for name, statement in parse_queries(path.read_text()).items():
                assert "--" not in statement, (path.name, name)

    def test_every_statement_is_named_described_and_used(self):
        folder = Path(gossamer.catalog.__file__).parent
        text = (folder / "queries.sql").read_text()
        assert text.count("-- name: ") == len(QUERIES)
        code = "".join(path.read_text() for path in folder.glob("*.py"))
        used = set(re.findall(r'"([a-z_]+)"', code))
        assert set(QUERIES) - used == set()
