"""Hosts that are slower than batches may last."""

from pathlib import Path

from service_rig import wait_for
from test_service_whole import QUICK, Service

from gossamer.fakeweb.process import FakeWeb
from gossamer.objects.enumerations import FilterMode
from gossamer.objects.normal import url_md5

URLS, DELAY_MS = 12, 300


def test_a_host_that_takes_longer_than_batches_last_is_crawled_all_the_same(tmp_path: Path) -> None:
    """Batches end while requests of theirs still wait for the host: those count for the next."""
    crawling = {**QUICK["Crawling"], "batch_kill_seconds": "1"}
    with FakeWeb(pages=40, hosts=1) as web, Service(tmp_path / "d", Crawling=crawling) as service:
        urls = list(web.truth()["pages"])[:URLS]
        # Nothing is collected: it has these alone.
        filters = [{"pattern": ".*", "type": 0, "mode": mode} for mode in FilterMode]
        site = {"urls": urls, "requestDelay": DELAY_MS, "filters": filters}
        assert service.tell("SITE_NEW", site)["errorCode"] == 0
        site_id = url_md5(urls[0])
        wait_for(lambda: service.site(site_id)["resources"] == URLS, "all to be crawled")
        assert service.terminate() == 0
        asked = {request.url for request in web.log().requests if not request.is_robots}
    assert asked == set(urls)
