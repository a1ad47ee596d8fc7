"""What a writer remembers of what it wrote itself saves questions, and changes nothing."""

from unittest.mock import patch

import pytest
from catalog_rig import NOW, done, found, md5_of, page
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.connection import MEMORY
from gossamer.catalog.digest import packed_digest, written_digest
from gossamer.catalog.entered import Entered
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Found, Kind, Pointer
from gossamer.outcomes import Outcome, State

URLS = [f"http://{host}.example/{number}" for host in "ab" for number in range(7)]
TABLES = ("url", "fetch", "content", "link", "record", "host", "total", "outcome_count", "file")

finds = st.builds(
    found,
    st.sampled_from(URLS),
    st.integers(0, 3),
    kind=st.sampled_from([int(Kind.PAGE)] * 3 + [int(Kind.SITEMAP)]),
    probation=st.sampled_from(["", "", "a.example /"]),
) | st.builds(
    found,
    st.sampled_from(URLS),
    st.integers(0, 3),
    state=st.just(int(State.EXCLUDED)),
    outcome=st.sampled_from([int(Outcome.POLICY_SCOPE), int(Outcome.POLICY_TRAP)]),
)
ends = st.sampled_from(
    [(Outcome.OK, 200, State.DONE)] * 6
    + [
        (Outcome.OK, 302, State.DONE),
        (Outcome.NOT_MODIFIED, 304, State.DONE),
        (Outcome.HTTP_4XX, 404, State.FAILED),
        (Outcome.NET_RESET, 0, State.PENDING),
        (Outcome.POLICY_ROBOTS, 0, State.EXCLUDED),
    ]
)
judged = st.tuples(
    ends, st.lists(finds, max_size=4), st.sampled_from([b"x", b"y", None, None]), st.integers(1, 2)
)
events = st.one_of(
    st.tuples(st.just("lease"), st.integers(1, 6)),
    st.tuples(st.just("lease"), st.integers(1, 6)),
    st.tuples(st.just("commit"), st.lists(judged, max_size=6)),
    st.tuples(st.just("commit"), st.lists(judged, max_size=6)),
    st.tuples(st.just("add"), st.lists(finds, max_size=3)),
    st.tuples(st.just("discover"), st.lists(finds, max_size=3)),
    st.tuples(st.just("release"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["keep out", "readmit"]), st.lists(st.integers(1, 9), max_size=3)),
    st.tuples(st.sampled_from(["begin", "requeue", "fail"]), st.none()),
)


class Forgetful(SqliteCatalog):
    """One that asks the database each time, and judges each document by itself."""

    _changes_by_itself = True

    def commit(self, *arguments, **more):
        with patch("gossamer.catalog.commit._is_first_page", return_value=False):
            return super().commit(*arguments, **more)


class Suspicious:
    """A gate that lets no URL in that ends in 6, whoever leads to it."""

    def begin(self, is_open):
        del is_open

    def admit(self, item: Found) -> Found:
        if not item.url.endswith("6"):
            return item
        trap = int(Outcome.POLICY_TRAP)
        return replace(item, state=int(State.EXCLUDED), outcome=trap, detail="six")

    def judged(self, finder, findings):
        pass

    def closed(self):
        return ()

    def refusal(self, finder):
        return None

    def changed(self):
        return ()

    def end(self):
        pass


class Life:
    """A catalog, and what is leased from it."""

    def __init__(self, kind: type[SqliteCatalog]) -> None:
        self.catalog = kind.open(MEMORY, CatalogSettings(follow_duplicates=False))
        self.catalog.begin_run(NOW)
        self.now = NOW
        self.leased = []
        self.late = []
        """Not leased any more, but somebody may be fetching it."""

    def live(self, event):
        """Let something happen; return what came of it."""
        name, what = event
        self.now += 40_000.0
        match name:
            case "lease":
                batch = self.catalog.due(what, what, self.now)
                self.leased += batch
                return batch
            case "commit":
                return self.commit(what)
            case "add":
                return self.catalog.add(what, self.now)
            case "discover":
                return self.catalog.discover(what, self.now)
            case "release":
                self.late, self.leased = self.leased[:what], self.leased[what:]
                return self.catalog.release([due.doc_id for due in self.late], self.now)
            case "keep out":
                return self.catalog.keep_out(what, Outcome.POLICY_TRAP, self.now)
            case "readmit":
                return self.catalog.readmit(what, self.now)
            case "requeue":
                return self.catalog.requeue_due(self.now, 5)
            case "fail":
                with pytest.raises(ZeroDivisionError), self.catalog._writing("fail"):
                    raise ZeroDivisionError
                return None
        self.late, self.leased = self.leased, []
        return self.catalog.begin_run(self.now)

    def commit(self, judged):
        verdicts = []
        for due, ((outcome, status, state), new, body, tries) in zip(
            self.leased, judged, strict=False
        ):
            findings = page(
                due.doc_id,
                new,
                outcome=int(outcome),
                status=status,
                tries=tries,
                fetched_at=self.now if status else 0.0,
                checksum=md5_of(f"body {due.doc_id}") if body is None else md5_of(str(body)),
                targets=b"target" * tries,
                records=("{}",) * (tries - 1),
                pointer=Pointer("file", due.doc_id, 7) if status else None,
                payload_digest=f"sha1:{'A' * 31}{'ABCDEFG'[due.doc_id % 7]}" if status else "",
            )
            verdicts.append(Verdict(findings, state, 0.0 if state is not State.PENDING else 7.0))
        self.leased = self.leased[len(verdicts) :]
        # One comes twice, and some come late.
        verdicts += verdicts[:1] + [done(due) for due in self.late]
        return self.catalog.commit(verdicts, self.now, gate=Suspicious())

    def rows(self):
        connection = self.catalog._database.connection
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}


@settings(max_examples=150)
@given(st.lists(events, max_size=14))
def test_a_catalog_that_remembers_is_like_one_that_asks(script):
    first = ("add", [found(url) for url in URLS[:3]])
    lives = Life(SqliteCatalog), Life(Forgetful)
    for event in [first, ("lease", 2), *script]:
        mine, other = (life.live(event) for life in lives)
        assert mine == other
        assert lives[0].rows() == lives[1].rows()
    for life in lives:
        assert life.catalog.check() == []
        life.catalog.close()


PLAIN = (Outcome.OK, 200, State.DONE)
STORIES = {
    "kept out and found by another way": [
        ("commit", [(PLAIN, [found(URLS[9], 1)], None, 1)]),
        ("keep out", [4]),
        ("commit", [(PLAIN, [found(URLS[9], 1)], None, 1)]),
    ],
    "late after a new run": [("begin", None), ("commit", [])],
    "late after a release": [("release", 1), ("commit", [])],
    "acquitted": [
        ("commit", [(PLAIN, [found(URLS[9], 1, probation="a.example /")], None, 1)]),
        ("commit", [(PLAIN, [found(URLS[9], 1)], None, 1)]),
    ],
    "tried twice": [("commit", [(PLAIN, [], None, 2)])],
    "copies": [("commit", [(PLAIN, [found(URLS[9])], b"x", 1)] * 2)],
    "no page between two": [
        ("lease", 1),
        ("commit", [(PLAIN, [], None, 1), ((Outcome.HTTP_4XX, 404, State.FAILED), [], None, 1)]),
        ("commit", [(PLAIN, [], None, 1)]),
    ],
    "again": [
        ("commit", [(PLAIN, [], None, 1)] * 2),
        *[("requeue", None)] * 50,
        ("lease", 6),
        ("commit", [(PLAIN, [], b"x", 1)] * 4),
    ],
    "refused": [("fail", None), ("commit", [(PLAIN, [found(URLS[9], 1)], None, 1)] * 2)],
}


@pytest.mark.parametrize("story", STORIES)
def test_stories_end_alike_with_and_without_a_memory(story):
    test_a_catalog_that_remembers_is_like_one_that_asks.hypothesis.inner_test(STORIES[story])


def asked(catalog: SqliteCatalog, what: str) -> list[str]:
    """Return the list to which statements are added that contain these words."""
    said: list[str] = []
    catalog._database.connection.set_trace_callback(
        lambda text: said.append(text) if what in text else None
    )
    return said


def test_what_this_writer_entered_and_leased_is_not_asked_for(tmp_path):
    catalog = SqliteCatalog.open(tmp_path / "c.db", CatalogSettings())
    catalog.add([found(URLS[0])], NOW)
    (due,) = catalog.due(9, 9, NOW)
    by_md5, by_number = asked(catalog, "md5 IN"), []
    catalog.commit([done(due, [found(url, 1) for url in URLS])], NOW)
    batch = catalog.due(9, 9, NOW)
    by_number = asked(catalog, "recrawl_seconds, last_fetch")
    catalog.commit([done(each, [found(url, 2) for url in URLS]) for each in batch], NOW)
    assert (by_md5, by_number) == ([], [])
    assert catalog.counts().done == 1 + len(batch)
    catalog.close()
    # Another one has to ask.
    catalog = SqliteCatalog.open(tmp_path / "c.db", CatalogSettings())
    by_md5 = asked(catalog, "md5 IN")
    assert catalog.discover([found(url, 2) for url in URLS], NOW) == []
    assert by_md5
    catalog.close()


def test_others_who_write_beside_us_are_asked_about(tmp_path):
    catalog = SqliteCatalog.open(tmp_path / "c.db", CatalogSettings(), shared=True)
    catalog.add([found(URLS[0])], NOW)
    said = asked(catalog, "md5 IN")
    assert catalog.discover([found(URLS[0], 1)], NOW) == []
    assert said
    catalog.close()


def sifted(entered: Entered, *items: Found) -> tuple[list[Found], list[bytes]]:
    left, to_ask = entered.sift({item.md5: (item, None) for item in items})
    return [item for item, _ in left.values()], to_ask


def test_only_what_may_gain_is_asked_for():
    entered = Entered(is_empty=True)
    known, doubtful, new = found("http://a/1", 3), found("http://a/2", 3, probation="a /"), URLS[0]
    for item in (known, doubtful):
        entered.add(item)
    closer = replace(known, depth=2)
    assert sifted(entered, known, found(new)) == ([found(new)], [])
    assert sifted(entered, closer) == ([closer], [closer.md5])
    assert sifted(entered, replace(doubtful, depth=9))[1] == [doubtful.md5]
    entered.forget()
    assert sifted(entered, known) == ([known], [known.md5])


@pytest.mark.parametrize("count", [3, 4, 5, 9, 40])
def test_no_more_than_so_many_are_remembered_and_what_is_forgotten_is_asked_for(count):
    entered = Entered(is_empty=True, max_urls=8)
    items = [found(f"http://a/{number}") for number in range(count)]
    for item in items:
        entered.add(item)
    left, to_ask = sifted(entered, *items)
    assert len(items) - len(left) <= 8
    assert [item.md5 for item in left] == to_ask
    assert sifted(entered, found("http://b/"))[1] == ([md5_of("http://b/")] if left else [])


@given(st.text(alphabet="ABCXYZ234567", min_size=32, max_size=32))
def test_a_digest_is_packed_and_written_again(letters):
    packed = packed_digest(f"sha1:{letters}")
    assert len(packed) == 20
    assert written_digest(packed) == f"sha1:{letters}"


@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
    | st.text("AB27 _01+-ä!", min_size=32, max_size=32)
)
def test_what_is_no_digest_is_kept_as_it_is_written(text):
    digest = f"sha1:{text}"
    assert written_digest(packed_digest(digest)) == digest
