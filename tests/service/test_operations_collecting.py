"""What operations of clients have to do with collecting: limits, rewriting, checks."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from operations_desk import ROOT, SITE, Desk

from gossamer.objects.enumerations import SiteSelect, UpdateType
from gossamer.objects.normal import url_md5
from gossamer.objects.site import Filter, Properties, Property, Site, SiteUpdate
from gossamer.objects.url import URL, URLPut

A, B = "http://a.example/a", "http://a.example/b"


@pytest.fixture(params=[0, 1, 2])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, request.param)
    yield made
    assert made.is_sound()
    made.close()


def properties(**values: str) -> Properties:
    return Properties([Property(name=name, value=value) for name, value in values.items()])


def with_content(url: str, **fields: object) -> URL:
    data = base64.b64encode(b"<p>handed over").decode()
    put = URLPut(site_id=SITE, url_md5=url_md5(url), content_type=0, put_dict={"data": data})
    return URL(url=url, site_id=SITE, url_put=put, **fields)


def test_a_url_without_room_leaves_no_content(desk: Desk) -> None:
    desk.site(max_urls=2)
    assert desk.statuses("URL_NEW", [with_content(A), with_content(B)]) == [0, 1]
    assert desk.raw(SITE, A) == [b"<p>handed over"]
    assert desk.raw(SITE, B) == []
    # A content of a URL that is there is never touched by a refusal.
    assert desk.statuses("URL_NEW", [with_content(A)]) == [2]
    assert desk.raw(SITE, A)


def test_a_content_is_kept_under_the_name_that_the_site_gives_its_url(desk: Desk) -> None:
    desk.site(properties=properties(URL_NORMALIZE='{"replace": [{"[?]s=1$": ""}]}'))
    assert desk.statuses("URL_NEW", [with_content(A + "?s=1")]) == [0]
    assert desk.urls(SITE) == [ROOT, A]
    assert desk.raw(SITE, A) == [b"<p>handed over"]


def test_sites_that_are_chosen_by_the_url_rewrite_it_as_well(desk: Desk) -> None:
    desk.site(properties=properties(URL_NORMALIZE='{"replace": [{"[?]s=1$": ""}]}'))
    for select in (SiteSelect.AUTO, SiteSelect.QUALIFY_URL):
        desk.statuses("URL_NEW", [URL(url=A + "?s=1", site_select=select)])
    assert desk.urls(SITE) == [ROOT, A]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("URL_NORMALIZE", '{"replace": [{"(": ""}]}'),
        ("URLS_FIELDS_INIT", '{"nothing": 1}'),
        ("AUTO_REMOVE_WHERE", "1 = 1; DROP TABLE urls"),
        ("COUNTER_CRIT_ERRORS", "Status = 4"),
    ],
)
def test_bad_values_are_refused_by_name_and_nothing_changes(
    desk: Desk, name: str, value: str
) -> None:
    bad = properties(**{name: value})
    answer = desk.general("SITE_NEW", Site(urls=[ROOT], properties=bad))
    assert f"Property.{name}" in answer.error_message
    desk.site()
    before = desk.status()
    update = SiteUpdate(id=SITE, properties=bad, urls=[A], update_type=UpdateType.APPEND)
    assert f"Property.{name}" in desk.general("SITE_UPDATE", update).error_message
    assert desk.status() == before


def test_a_filter_that_would_never_be_asked_is_refused(desk: Desk) -> None:
    answer = desk.general("SITE_NEW", Site(urls=[ROOT], filters=[Filter(pattern="x", stage=2)]))
    assert "Filter[0].stage" in answer.error_message


def test_root_urls_of_an_update_are_written_as_its_properties_say(desk: Desk) -> None:
    desk.site()
    update = SiteUpdate(
        id=SITE,
        urls=["http://www.b.example/"],
        properties=properties(URL_NORMALIZE_MASK="1"),
        update_type=UpdateType.APPEND,
    )
    assert desk.statuses("SITE_UPDATE", update) == [0]
    assert desk.urls(SITE) == [ROOT, "http://b.example/"]
