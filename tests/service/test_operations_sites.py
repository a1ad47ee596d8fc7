"""Site operations over the catalog and the contents of every storage type."""

import sqlite3
from contextlib import closing

import pytest
from operations_desk import PARENT, ROOT, SITE, Desk

from gossamer.objects.answers import GeneralResponse
from gossamer.objects.enumerations import (
    ContentKind,
    CrawlStatus,
    DelayedType,
    FetchType,
    FilterOperation,
    HistoryCleanUp,
    SiteSelect,
    SiteState,
)
from gossamer.objects.extras import Attribute, AttributeFetch
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.selection import Criterions
from gossamer.objects.site import (
    Filter,
    Properties,
    Property,
    Site,
    SiteCleanup,
    SiteDelete,
    SiteFind,
    SiteStatus,
    SiteUpdate,
)
from gossamer.objects.url import (
    URL,
    URLCleanup,
    URLHistoryRequest,
    URLPurge,
    URLStatsRequest,
    URLUpdate,
)

PAGE = "http://a.example/page"
DELAYED = {"delayed_type": DelayedType.DELAYED}


@pytest.fixture(params=[0, 1, 2], ids=["key-value", "table", "warc"])
def desk(request, tmp_path):
    made = Desk(tmp_path, request.param)
    yield made
    assert made.is_sound()
    made.close()


def tables(desk: Desk) -> set[str]:
    with closing(sqlite3.connect(desk.folder / "db" / "dc_contents.db")) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {row[0] for row in rows}


def has_store(desk: Desk, site_id: str) -> bool:
    """Whether there is a place for processed contents of a site."""
    if desk.storage == 1:
        return f"contents_{site_id}" in tables(desk)
    return (desk.folder / "db" / f"{site_id}.db").is_file()


def has_folder(desk: Desk, site_id: str) -> bool:
    return (desk.folder / "raw" / site_id).is_dir()


def purge_all(desk: Desk) -> None:
    desk.general("URL_PURGE", [URLPurge(site_limits=(0, -1), criterions=Criterions(limit=1_000))])


@pytest.fixture
def filled(desk):
    """A site with a root and a page, both with contents."""
    desk.site(ROOT)
    desk.add(SITE, PAGE)
    for url in (ROOT, PAGE):
        desk.put(SITE, url, b"<p>" + url.encode())
        desk.put(SITE, url, b'{"default": {"title": "x"}}', ContentKind.PROCESSOR)
    return desk


@pytest.mark.req("S3.112", "S3.114", "S3.122", "S3.123", "S3.124")
def test_a_new_site_has_room_for_contents(desk):
    assert not has_store(desk, SITE)
    answer = desk.do("SITE_NEW", Site(urls=[ROOT]))
    assert answer == GeneralResponse(error_code=0, error_message="", statuses=[0])
    assert has_store(desk, SITE)
    assert (desk.folder / "db" / f"{SITE}.db").exists() == (desk.storage != 1)
    assert (desk.folder / "db" / "dc_contents.db").exists() == (desk.storage == 1)
    assert has_folder(desk, SITE) == (desk.storage != 2)
    assert desk.status().state is SiteState.ACTIVE


@pytest.mark.req("S3.115", "S3.124")
def test_a_duplicate_site_is_refused_and_its_contents_stay(filled):
    before = filled.status()
    answer = filled.general("SITE_NEW", Site(urls=[ROOT], priority=1))
    assert (answer.error_code, answer.statuses) == (2020, [2020])
    assert "duplicate site" in answer.error_message
    assert filled.status() == before
    assert filled.raw(SITE, PAGE) == [b"<p>" + PAGE.encode()]
    assert filled.processed(SITE, PAGE)


@pytest.mark.req("S3.28")
@pytest.mark.parametrize(
    "site",
    [
        Site(urls=["nothing"]),
        Site(),
        Site(id="../../etc", urls=[ROOT]),
        Site(urls=[ROOT], state=SiteState.DELETED),
        Site(urls=[ROOT], c_date="DROP TABLE url"),
        Site(urls=[ROOT], fetch_type=FetchType.DYNAMIC),
        Site(urls=[ROOT], properties=Properties([Property(name="NOSUCH", value="1")])),
        Site(urls=[ROOT], filters=[Filter(pattern="(")]),
    ],
    ids=["url", "empty", "id", "state", "date", "fetch type", "property", "filter"],
)
def test_a_site_that_cannot_be_is_refused_by_name_and_leaves_nothing(desk, site):
    answer = desk.general("SITE_NEW", site)
    assert answer.error_code != 0
    assert answer.error_message.startswith("cannot use") or "is not a site id" in (
        answer.error_message
    )
    assert [row[0] for row in desk.rows("SELECT id FROM service_site")] == ["0"]
    assert not has_store(desk, SITE)
    assert not has_folder(desk, SITE)


@pytest.mark.req("S3.125", "S3.132")
def test_an_update_tells_of_a_site_that_is_not_there(desk):
    answer = desk.general("SITE_UPDATE", SiteUpdate(id="f" * 32, priority=1))
    assert (answer.error_code, answer.statuses) == (2020, [2020])
    assert "site id not found" in answer.error_message
    desk.site(ROOT)
    assert desk.statuses("SITE_UPDATE", SiteUpdate(id=SITE, priority=1)) == [0]
    assert desk.status().priority == 1


@pytest.mark.req("S3.26", "S3.136", "S3.137", "S3.138", "S3.139", "S3.140", "S3.141", "S3.142")
@pytest.mark.req("S3.143")
def test_a_deleted_site_is_gone_with_everything(filled):
    filled.statuses("ATTR_SET", [Attribute(site_id=SITE, name="k", value="v")])
    answer = filled.do("SITE_DELETE", [SiteDelete(id=SITE)])
    assert answer == GeneralResponse(statuses=[0])
    assert filled.status().state is SiteState.NOT_FOUND
    for table in ("service_root", "service_filter", "service_property", "attribute", "member"):
        assert filled.rows(f"SELECT count(*) FROM {table}") == [(0,)], table
    assert filled.rows("SELECT site_id, state FROM url_set") == [(0, 0)]
    assert filled.rows("SELECT * FROM tombstone") == []
    assert not has_store(filled, SITE)
    assert not has_folder(filled, SITE)
    assert filled.raw(SITE, PAGE) == []


@pytest.mark.req("S3.140")
def test_a_delayed_deletion_keeps_contents_until_the_purge(filled):
    assert filled.statuses("SITE_DELETE", [SiteDelete(id=SITE, **DELAYED)]) == [0]
    assert filled.status().state is SiteState.DELETE_TASK
    assert filled.raw(SITE, PAGE)
    assert filled.processed(SITE, PAGE)
    assert has_store(filled, SITE)
    purge_all(filled)
    assert filled.status().state is SiteState.DELETED
    assert filled.raw(SITE, PAGE) == []
    assert not has_store(filled, SITE)
    assert filled.rows("SELECT count(*) FROM member") == [(0,)]


def test_a_site_made_again_before_the_purge_has_none_of_the_old_contents(filled):
    filled.statuses("SITE_DELETE", [SiteDelete(id=SITE, **DELAYED)])
    filled.site(ROOT)
    assert filled.status().state is SiteState.ACTIVE
    assert filled.content(SITE, ROOT).raw_contents == []
    purge_all(filled)
    assert has_store(filled, SITE)
    assert filled.status().state is SiteState.ACTIVE
    assert filled.urls(SITE) == [ROOT]


def test_auto_makes_no_site_over_contents_that_are_left(filled):
    filled.statuses("SITE_DELETE", [SiteDelete(id=SITE, **DELAYED)])
    url = URL(url=PAGE, site_select=SiteSelect.AUTO)
    assert filled.statuses("URL_NEW", [url]) == [0]
    assert filled.content(SITE, PAGE).raw_contents == []
    assert has_store(filled, SITE)


def test_sites_are_deleted_by_criterions_but_never_the_general_one(desk):
    one, two = desk.site("http://one.example/", priority=1), desk.site("http://two.example/")
    where = Criterions(where="Priority >= 1")
    answer = desk.general("SITE_DELETE", [SiteDelete(id="0"), SiteDelete(id=one)])
    assert "general site" in answer.error_message
    assert desk.status(one).state is SiteState.ACTIVE
    assert desk.statuses("SITE_DELETE", [SiteDelete(criterions=where)]) == [0]
    assert [desk.status(each).state for each in (one, two)] == [SiteState.NOT_FOUND] * 2
    assert desk.status("0").state is SiteState.ACTIVE


def test_the_deletion_of_a_site_that_is_not_there_is_told(desk):
    desk.site(ROOT)
    answer = desk.general("SITE_DELETE", [SiteDelete(id="f" * 32), SiteDelete(id=SITE)])
    assert (answer.error_code, answer.statuses) == (2020, [2020, 0])
    assert "f" * 32 in answer.error_message


@pytest.mark.req("S3.25", "S3.144", "S3.145", "S3.146", "S3.147", "S3.149", "S3.150", "S3.152")
def test_a_cleanup_keeps_roots_archives_the_rest_and_removes_contents(filled):
    filled.statuses("SITE_UPDATE", SiteUpdate(id=SITE, iterations=9, state=SiteState.SUSPENDED))
    filled.statuses(
        "URL_UPDATE", [URLUpdate(site_id=SITE, url=PAGE, error_mask=4, status=CrawlStatus.CRAWLED)]
    )
    filled.statuses("ATTR_SET", [Attribute(site_id=SITE, name="k", value="v")])
    answer = filled.do("SITE_CLEANUP", [SiteCleanup(id=SITE)])
    assert answer == GeneralResponse(statuses=[0])
    assert filled.urls(SITE) == [ROOT]
    assert filled.deleted(SITE) == {PAGE: 2}
    site = filled.status()
    assert (site.resources, site.contents, site.iterations, site.errors) == (0, 0, 0, 0)
    assert (site.state, site.error_mask, site.size) == (SiteState.ACTIVE, 0, 0)
    assert site.tc_date is not None
    assert site.urls == [ROOT]
    assert filled.raw(SITE, ROOT) == filled.raw(SITE, PAGE) == []
    assert not filled.processed(SITE, PAGE)
    assert has_store(filled, SITE)
    assert filled.url(SITE, ROOT).status is CrawlStatus.NEW
    assert filled.do("ATTR_FETCH", [AttributeFetch(site_id=SITE, name="k")]) == []


@pytest.mark.req("S3.144", "S3.149")
def test_a_delayed_cleanup_keeps_contents_until_the_purge(filled):
    assert filled.statuses("SITE_CLEANUP", [SiteCleanup(id=SITE, **DELAYED)]) == [0]
    assert filled.urls(SITE) == [ROOT]
    assert filled.deleted(SITE) == {PAGE: 1}
    assert filled.raw(SITE, PAGE)
    assert filled.raw(SITE, ROOT)
    purge_all(filled)
    assert filled.deleted(SITE) == {}
    assert filled.raw(SITE, PAGE) == []
    assert filled.raw(SITE, ROOT)


@pytest.mark.req("S3.146", "S3.148", "S3.151")
@pytest.mark.parametrize("moves", [True, False])
def test_without_saved_roots_all_goes_and_roots_come_back_if_moved(filled, moves):
    filled.add(SITE, "http://a.example/by-hand", parent_md5="")
    cleanup = SiteCleanup(id=SITE, save_root_urls=False, move_urls=moves)
    assert filled.statuses("SITE_CLEANUP", [cleanup]) == [0]
    assert filled.urls(SITE) == ([ROOT] if moves else [])
    assert set(filled.deleted(SITE)) == {ROOT, PAGE, "http://a.example/by-hand"}


@pytest.mark.req("S3.151")
def test_moved_roots_are_not_doubled_by_saved_ones(filled):
    filled.statuses("SITE_CLEANUP", [SiteCleanup(id=SITE)])
    filled.statuses("SITE_UPDATE", SiteUpdate(id=SITE, urls=["http://a.example/2"]))
    filled.statuses("SITE_CLEANUP", [SiteCleanup(id=SITE)])
    assert filled.urls(SITE) == [ROOT, "http://a.example/2"]
    assert filled.status().new_urls == 2


def test_a_cleanup_sets_the_state_that_is_asked_for(filled):
    filled.statuses("SITE_CLEANUP", [SiteCleanup(id=SITE, state=SiteState.DISABLED)])
    assert filled.status().state is SiteState.DISABLED
    answer = filled.general("SITE_CLEANUP", [SiteCleanup(id=SITE, state=SiteState.NOT_FOUND)])
    assert "cannot be set" in answer.error_message
    missing = filled.general("SITE_CLEANUP", [SiteCleanup(id="f" * 32)])
    assert (missing.error_code, missing.statuses) == (2020, [2020])


@pytest.mark.parametrize("history", list(HistoryCleanUp))
def test_a_cleanup_forgets_as_much_history_as_is_asked_for(desk, history):
    names = ("STATS_FREQ_ENABLED", "STATS_LOG_ENABLED")
    desk.site(ROOT, properties=Properties(Property(name=name, value="1") for name in names))
    desk.statuses("SITE_CLEANUP", [SiteCleanup(id=SITE, move_urls=False, history_clean_up=history)])
    (log,) = desk.do("URL_HISTORY", [URLHistoryRequest(site_id=SITE)])
    (stats,) = desk.do("URL_STATS", [URLStatsRequest(site_id=SITE)])
    assert bool(log.log_rows) == (history is HistoryCleanUp.NOT)
    assert bool(stats.freq_rows) == (history is not HistoryCleanUp.FULL)


@pytest.mark.req("S3.27", "S3.112", "S3.135")
def test_a_find_answers_sites_as_a_status_does(desk):
    desk.site(ROOT)
    assert desk.do("SITE_FIND", SiteFind(url="http://a.")) == [desk.status()]
    assert desk.do("SITE_FIND", SiteFind(url="http://b.")) == []


@pytest.mark.req("S3.109")
def test_an_instance_finds_what_another_one_made(desk):
    desk.site(ROOT)
    other = Desk(desk.settings.folder, desk.storage)
    other.add(SITE, PAGE)
    other.put(SITE, PAGE, b"x")
    assert desk.url(SITE, PAGE).parent_md5 == PARENT
    assert desk.raw(SITE, PAGE) == [b"x"]
    desk.add(SITE, "http://a.example/3")
    other.add(SITE, "http://a.example/4")
    other.close()
    assert desk.status().new_urls == 4


def test_objects_of_another_kind_are_refused(desk):
    with pytest.raises(ObjectError, match="SiteStatus is expected"):
        desk.do("SITE_STATUS", URL(url=ROOT))
    with pytest.raises(ObjectError, match="one SiteStatus"):
        desk.do("SITE_STATUS", [SiteStatus(id="0"), SiteStatus(id="0")])
    assert desk.general("URL_NEW", [SiteStatus(id="0")]).error_code == 2021
    for name in ("BATCH", "RESOURCE_FETCH"):
        with pytest.raises((UnsupportedError, ObjectError)):
            desk.do(name, None)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"properties": Properties([Property(name="ROBOTS_MODE", value="0")])}, "ROBOTS_MODE"),
        ({"properties": Properties([Property(name="NO_SUCH", value="")])}, "NO_SUCH"),
        ({"properties": Properties([Property(name="HTTP_HEADERS", value="{")])}, "HTTP_HEADERS"),
        ({"filters": [Filter(pattern="(")]}, "pattern"),
        ({"filters": [Filter(op_code=FilterOperation.SQL_EXPRESSION)]}, "opCode"),
    ],
)
def test_what_a_site_cannot_have_is_refused_by_name_and_changes_nothing(desk, fields, named):
    answer = desk.do("SITE_NEW", Site(urls=[ROOT], **fields))
    assert answer.error_code != 0
    assert named in answer.error_message
    assert desk.do("SITE_STATUS", SiteStatus(id=SITE)).state is SiteState.NOT_FOUND
    assert not has_store(desk, SITE)
    assert not has_folder(desk, SITE)
    desk.site(ROOT)
    before = desk.do("SITE_STATUS", SiteStatus(id=SITE))
    answer = desk.do("SITE_UPDATE", SiteUpdate(id=SITE, **fields))
    assert named in answer.error_message
    assert desk.do("SITE_STATUS", SiteStatus(id=SITE)) == before


def test_a_site_with_the_longest_period_can_be_shown_and_cleaned_up(desk):
    desk.site(ROOT, recrawl_period=525_600_000)
    desk.statuses("URL_CLEANUP", [URLCleanup(site_id=SITE, url=ROOT)])
    assert desk.status().recrawl_date > "3000"
    assert desk.url(SITE, ROOT).u_date < "2000"
