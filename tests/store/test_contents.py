"""What every content storage of the service promises, whichever it is."""

import shutil
import tempfile
from pathlib import Path

import pytest
from contents_samples import HEAD, NOW, ONE, OTHER, REQUEST, SITE, TWO, Storage, put
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gossamer.errors import StoreError
from gossamer.store.contents import site_name

BAD = [
    "../../etc", "..", ".", "/", "a" * 33, "a" * 32 + "\n", "a/" * 16, "0/../" + "a" * 27,
    "\0" * 32, "\uff41" * 32, '"; DROP TABLE articles; --', "0 ", "^a", "a.db", "é",
]  # fmt: skip
BAD_MD5 = [*BAD, "", "0", "a", "A" * 32, "a" * 31, "g" * 32]


@pytest.fixture(params=[0, 1, 2], ids=["key-value", "table", "warc"])
def storage(request, tmp_path):
    storage = Storage(request.param, tmp_path)
    yield storage
    storage.close()


@pytest.fixture
def contents(storage):
    return storage.open()


def test_versions_come_back_by_time(storage, contents):
    for age in (2, 0, 1):
        put(contents, stamp=NOW - age, body=b"body %d" % age)
    contents.sync()
    again = storage.open()
    bodies = {which: [one.body for one in again.raw(SITE, ONE, which)] for which in
              ("all", "first", "last")}  # fmt: skip
    assert bodies == {
        "all": [b"body 2", b"body 1", b"body 0"], "first": [b"body 2"], "last": [b"body 0"],
    }  # fmt: skip
    (last,) = again.raw(SITE, ONE)
    assert last.stamp == pytest.approx(NOW, abs=1e-6)
    assert (last.headers, last.request) == (HEAD, REQUEST)
    assert again.raw(SITE, TWO, "all") == []
    assert again.raw(OTHER, ONE, "all") == []


def test_a_raw_content_can_be_read_before_it_is_synced(contents):
    put(contents)
    assert [one.body for one in contents.raw(SITE, ONE)] == [b"<p>x"]


def test_a_version_of_the_same_moment_takes_the_place_of_the_first(contents):
    put(contents, body=b"first")
    contents.sync()
    put(contents, body=b"second")
    contents.sync()
    assert [one.body for one in contents.raw(SITE, ONE, "all")] == [b"second"]


@pytest.mark.req("S3.105")
def test_processed_contents_are_inserted_and_updated(storage, contents):
    assert contents.processed(SITE, ONE) is None
    contents.put_processed(SITE, ONE, b'{"a": "\xc3\xbc"}', NOW)
    contents.put_processed(SITE, TWO, b"{}", NOW)
    assert storage.open().processed(SITE, ONE) == (b'{"a": "\xc3\xbc"}', int(NOW))
    contents.put_processed(SITE, ONE, b"[]", NOW + 60)
    assert storage.open().processed(SITE, ONE) == (b"[]", int(NOW) + 60)
    assert contents.processed(OTHER, ONE) is None


def test_urls_without_a_site_have_a_storage_of_their_own(contents):
    put(contents, site="", body=b"general")
    contents.put_processed("", ONE, b"1", NOW)
    assert contents.raw("0", ONE)[0].body == b"general"
    assert contents.processed("0", ONE) == (b"1", int(NOW))
    assert contents.raw(SITE, ONE) == []


@pytest.mark.req("S3.166", "S3.167")
def test_all_contents_of_a_url_are_deleted_and_no_others(storage, contents):
    for md5 in (ONE, TWO):
        put(contents, md5=md5)
        put(contents, md5=md5, stamp=NOW + 1)
        contents.put_processed(SITE, md5, b"1", NOW)
    contents.sync()
    assert contents.delete(SITE, ONE)
    again = storage.open()
    assert again.raw(SITE, ONE, "all") == []
    assert again.processed(SITE, ONE) is None
    assert len(again.raw(SITE, TWO, "all")) == 2
    assert again.processed(SITE, TWO) is not None
    assert not contents.delete(SITE, ONE)
    assert not contents.delete(OTHER, ONE)


@pytest.mark.parametrize("remove", ["clear_site", "drop_site"])
def test_a_site_is_removed_with_all_its_contents(storage, contents, remove):
    for site in (SITE, OTHER):
        put(contents, site=site)
        contents.put_processed(site, ONE, b"1", NOW)
    getattr(contents, remove)(SITE)
    again = storage.open()
    assert again.raw(SITE, ONE, "all") == []
    assert again.processed(SITE, ONE) is None
    assert again.size_of(SITE) == 0
    assert again.raw(OTHER, ONE)[0].body == b"<p>x"
    assert again.processed(OTHER, ONE) == (b"1", int(NOW))
    while again.sweep():
        pass
    assert again.raw(OTHER, ONE)[0].body == b"<p>x"
    put(again, body=b"new")
    again.put_processed(SITE, ONE, b"2", NOW)
    assert again.raw(SITE, ONE)[0].body == b"new"
    assert contents.processed(SITE, ONE) == (b"2", int(NOW))


def test_to_remove_what_is_not_there_is_nothing(contents):
    contents.drop_site(SITE)
    contents.clear_site(SITE)
    contents.create_site(SITE)
    contents.create_site(SITE)
    assert contents.size_of(OTHER) == 0
    while contents.sweep():
        pass


def test_the_size_of_a_site_is_that_of_its_raw_contents(contents):
    assert contents.size_of(SITE) == 0
    put(contents, body=b"x" * 1_000)
    first = contents.size_of(SITE)
    put(contents, md5=TWO, body=bytes(range(256)) * 8)
    assert contents.size_of(SITE) > first > 0
    contents.delete(SITE, TWO)
    assert contents.size_of(SITE) == first


@pytest.mark.parametrize("name", BAD_MD5)
def test_no_md5_leads_out_of_the_storage(storage, contents, name):
    """Whatever is asked for under a name that is none, it is refused, and no file appears."""
    contents.create_site(SITE)
    before = sorted(storage.folder.rglob("*"))
    with pytest.raises(StoreError):
        put(contents, md5=name)
    for call in (contents.raw, contents.processed, contents.delete):
        with pytest.raises(StoreError):
            call(SITE, name)
    with pytest.raises(StoreError):
        contents.put_processed(SITE, name, b"1", NOW)
    assert sorted(storage.folder.rglob("*")) == before


@pytest.mark.parametrize("name", BAD)
def test_no_site_id_leads_out_of_the_storage(storage, contents, name):
    contents.create_site(SITE)
    before = sorted(storage.folder.rglob("*"))
    with pytest.raises(StoreError):
        put(contents, site=name)
    for call in (contents.raw, contents.processed, contents.delete):
        with pytest.raises(StoreError):
            call(name, ONE)
    for call in (contents.create_site, contents.clear_site, contents.drop_site, contents.size_of):
        with pytest.raises(StoreError):
            call(name)
    with pytest.raises(StoreError):
        contents.put_processed(name, ONE, b"1", NOW)
    assert sorted(storage.folder.rglob("*")) == before


OTHER_IDS = ["Shop-1", "shop-1", "SHOP-1", "keyvalue_template", "dc_contents", "pointers", "00",
             "A" * 32, "a", "id-a", "gone_x", "_", "-", "-wal"]  # fmt: skip


def test_sites_of_any_id_have_storages_of_their_own(storage, contents):
    for number, site in enumerate(OTHER_IDS):
        contents.create_site(site)
        put(contents, site=site, body=b"%d" % number)
        contents.put_processed(site, ONE, b"%d" % number, NOW)
    contents.drop_site(OTHER_IDS[0])
    again = storage.open()
    for number, site in list(enumerate(OTHER_IDS))[1:]:
        assert again.raw(site, ONE)[0].body == b"%d" % number
        assert again.processed(site, ONE) == (b"%d" % number, int(NOW))


def test_names_of_sites_differ_also_where_capitals_do_not_count():
    names = [site_name(site).lower() for site in (*OTHER_IDS, SITE, "0")]
    assert len(set(names)) == len(names)


def test_what_cannot_be_kept_is_refused(contents):
    with pytest.raises(StoreError, match="processed content"):
        contents.put_processed(SITE, ONE, b"\xff", NOW)
    assert contents.processed(SITE, ONE) is None


SITES = st.sampled_from([SITE, OTHER, "0"])
MD5S = st.sampled_from([ONE, TWO])
BODIES = st.binary(max_size=40)


class ContentsMachine(RuleBasedStateMachine):
    """Any order of calls, from two objects, against a model of two dictionaries."""

    kind = 0

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.storage = Storage(self.kind, self.folder)
        self.writer = self.storage.open()
        self.reader = self.storage.open()
        self.raw = {}
        self.processed = {}

    def teardown(self):
        self.storage.close()
        shutil.rmtree(self.folder)

    @rule(site=SITES, md5=MD5S, stamp=st.integers(0, 3), body=BODIES)
    def put_raw(self, site, md5, stamp, body):
        put(self.writer, site=site, md5=md5, stamp=NOW + stamp, body=body)
        self.raw.setdefault((site, md5), {})[stamp] = body

    @rule(site=SITES, md5=MD5S, body=st.text(max_size=20), now=st.integers(0, 2_000_000_000))
    def put_processed(self, site, md5, body, now):
        self.writer.put_processed(site, md5, body.encode(), now)
        self.processed[site, md5] = (body.encode(), now)

    @rule(site=SITES, md5=MD5S)
    def delete(self, site, md5):
        assert self.writer.delete(site, md5) == ((site, md5) in self.processed)
        self.raw.pop((site, md5), None)
        self.processed.pop((site, md5), None)

    @rule(site=SITES, clear=st.booleans())
    def remove_site(self, site, clear):
        (self.writer.clear_site if clear else self.writer.drop_site)(site)
        for model in (self.raw, self.processed):
            for key in [key for key in model if key[0] == site]:
                del model[key]

    @rule(site=SITES)
    def create_site(self, site):
        self.reader.create_site(site)

    @rule()
    def sweep(self):
        self.reader.sweep(1)

    @rule()
    def change_places(self):
        self.writer.sync()
        self.writer, self.reader = self.reader, self.writer

    @rule(which=st.sampled_from(["all", "first", "last"]))
    def read(self, which):
        self.writer.sync()
        for site in (SITE, OTHER, "0"):
            for md5 in (ONE, TWO):
                versions = self.raw.get((site, md5), {})
                bodies = [versions[stamp] for stamp in sorted(versions)]
                expected = {"all": bodies, "first": bodies[:1], "last": bodies[-1:]}[which]
                assert [one.body for one in self.reader.raw(site, md5, which)] == expected

    @invariant()
    def processed_are_as_put(self):
        for site in (SITE, OTHER, "0"):
            for md5 in (ONE, TWO):
                assert self.reader.processed(site, md5) == self.processed.get((site, md5))


class KeyValueMachine(ContentsMachine):
    kind = 0


class TableMachine(ContentsMachine):
    kind = 1


class WarcMachine(ContentsMachine):
    kind = 2


LIMITS = settings(max_examples=15, stateful_step_count=20, deadline=None)
TestKeyValueMachine = KeyValueMachine.TestCase
TestTableMachine = TableMachine.TestCase
TestWarcMachine = WarcMachine.TestCase
TestKeyValueMachine.settings = TestTableMachine.settings = TestWarcMachine.settings = LIMITS
