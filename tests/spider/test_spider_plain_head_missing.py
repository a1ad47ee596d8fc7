"""Without the compiled part (no compiler was at hand) responses mean the same."""

import subprocess
import sys
from pathlib import Path

import msgspec
from misbehaviours import CASES
from rawserver import RawServer, page

from conftest import LOOPBACK, fetch_all, visit
from gossamer.clock import SystemClock
from gossamer.config.spider import SpiderSettings
from gossamer.messages import Fetch
from gossamer.spider.spider import Spider

SCRIPT = """
import sys
sys.modules["gossamer.spider._plain_head"] = None  # so that its import fails
from gossamer.spider.plain_head import is_compiled
assert not is_compiled()
import msgspec, test_spider_plain_head_missing
answers = test_spider_plain_head_missing.answers(int(sys.argv[1]))
sys.stdout.buffer.write(msgspec.json.encode(answers))
"""
BEHAVIOURS = {case.name: case.behaviour for case in CASES if isinstance(case.behaviour, bytes)}


def answers(port: int) -> list[list[object]]:
    """What became of all that says what it has to say at once, and of good pages after it."""
    spider = Spider(SpiderSettings(), LOOPBACK, SystemClock())
    names = [name for each in BEHAVIOURS for name in (each, "good", "good")]
    urls = [f"http://a.example:{port}/{name}" for name in names]
    fetches = [fetch_all(spider, [visit(1, url)])[1] for url in urls]
    spider.close()
    return [_shown(fetch) for fetch in fetches]


def _shown(fetch: Fetch) -> list[object]:
    return [
        fetch.visit.url,
        int(fetch.outcome),
        fetch.detail,
        fetch.status,
        fetch.flags,
        fetch.request_head,
        fetch.head,
        fetch.headers,
        fetch.body,
    ]


def test_responses_are_the_same_without_the_compiled_part() -> None:
    with RawServer(BEHAVIOURS | {"good": page(b"good page")}) as server:
        told = subprocess.check_output(
            [sys.executable, "-c", SCRIPT, str(server.port)],
            cwd=Path(__file__).parent,
            env={"PYTHONPATH": str(Path(__file__).parent.parent)},
            timeout=120,
        )
        assert told == msgspec.json.encode(answers(server.port))
