"""URL_NEW of many URLs in one call, and questions about them, through the real daemon and back.

.venv/bin/python bench/service_call.py [--urls 100000] [--times 3] [--questions 2000]

Questions are asked one after the other over one connection, as gossamer.Service asks them.
On a busy machine the time of the processor tells more than that of the clock.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

from gossamer.daemons.endpoints import Endpoint, parse_endpoint
from gossamer.objects.enumerations import Operation
from gossamer.objects.normal import url_md5
from gossamer.objects.site import Site, SiteStatus
from gossamer.objects.url import URL, URLStatus
from gossamer.service.calling import call
from gossamer.service.client import Service

ROOT = "http://s1.example/"
CONFIGURATION = """\
[Application]
data_dir = data
[Server]
admin_port = 0
client_port = 0
[Crawling]
period_seconds = 0
[Purge]
period_seconds = 0
"""
TIMEOUT = 600.0
START_SECONDS = 60.0


def started(folder: Path) -> tuple[subprocess.Popen[bytes], Endpoint]:
    """Return a daemon and where its clients connect."""
    configuration, log = folder / "dc-daemon.ini", folder / "log"
    configuration.write_text(CONFIGURATION)
    program = Path(sys.executable).parent / "dc-daemon"
    with log.open("wb") as file:
        daemon = subprocess.Popen([program, "-c", configuration], stdout=file, stderr=file)
    deadline = time.monotonic() + START_SECONDS
    while ": ready\n" not in log.read_text():
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the daemon did not start:\n{log.read_text()}")
        time.sleep(0.05)
    found = re.findall(r"started ClientInterfaceService, listens on tcp://(\S+)", log.read_text())
    return daemon, parse_endpoint(found[-1])


def computing(process_id: int) -> float:
    """Return the seconds that a process has computed so far."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def ask(node: Endpoint, pages: int, questions: int) -> None:
    """Ask for the status of URLs and of their site, and print how long the answers took."""
    site = url_md5(ROOT)
    async with Service(f"tcp://{node}") as service:
        url_times, site_times = [], []
        for number in range(questions):
            asked = URLStatus(site_id=site, url=f"{ROOT}0/{number * 7919 % pages}")
            begun = time.perf_counter()
            (url,) = await service.url_status([asked])
            url_times.append(time.perf_counter() - begun)
            assert url.url == asked.url
            begun = time.perf_counter()
            await service.site_status(SiteStatus(id=site))
            site_times.append(time.perf_counter() - begun)
    for name, times in (("URL_STATUS", url_times), ("SITE_STATUS", site_times)):
        middle, late = (1_000 * quantiles(times, n=100)[place] for place in (49, 98))
        print(f"{name}: {middle:.2f} ms in the middle, {late:.2f} ms for 99 of 100")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--questions", type=int, default=2_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        daemon, node = started(Path(folder))
        try:
            call([node], Operation.SITE_NEW, Site(urls=[ROOT]), timeout_seconds=TIMEOUT)
            for number in range(given.times):
                urls = [
                    URL(url=f"{ROOT}{number}/{page}", site_id=url_md5(ROOT), parent_md5="ab" * 16)
                    for page in range(given.urls)
                ]
                begun, own, its = time.perf_counter(), time.process_time(), computing(daemon.pid)
                answer = call([node], Operation.URL_NEW, urls, timeout_seconds=TIMEOUT)
                seconds = time.perf_counter() - begun
                own, its = time.process_time() - own, computing(daemon.pid) - its
                statuses = answer.items_list[0].item_object.statuses
                assert statuses == [0] * given.urls, answer.error_message
                print(
                    f"URL_NEW of {given.urls}: {seconds:.2f} s; computing: client {own:.2f} s, "
                    f"daemon {its:.2f} s"
                )
            asyncio.run(ask(node, given.urls, given.questions))
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
