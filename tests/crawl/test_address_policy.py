"""No page, redirect, sitemap, robots.txt or name server can send the crawler where it may not go.

The crawl runs in a network namespace in which every forbidden network is local, so that a canary
sees each connection that is made, whatever the program says of it. See `canary.py`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import canary
import pytest
from harness import read_jsonl

from gossamer.url.address import port_refusal
from gossamer.url.parts import port_of


def why_not() -> str:
    """Return what is missing for a network namespace; empty when nothing is."""
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("unshare", "ip"):
        if not shutil.which(tool):
            return f"needs the command {tool}"
    if not Path("/proc/net/if_inet6").exists():
        return "needs IPv6"
    made = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    return "" if made.returncode == 0 else "may not make a network namespace"


WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=f"network namespace: {WHY_NOT}")
FLAGS = (
    *("--scope", "any", "--delay", "0", "--per-host", "16", "--quiet"),
    *("--set", f'urlserver.dns_servers=["{canary.DNS[0]}:{canary.DNS[1]}"]'),
    *("--set", "urlserver.dns_min_ttl_seconds=0"),
    *("--set", "handlers.follow_assets=true"),
    *("--set", "crawl.patience_seconds=1"),
)


@dataclass(frozen=True)
class Told:
    """What the canary saw, and what the program says."""

    exit_code: int
    connections: dict[str, int]
    questions: dict[str, int]
    rows: dict[str, dict[str, object]]

    def classes_of(self, host: str) -> set[object]:
        return {row["outcome"] for row in self.rows.values() if row["host"] == host}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Crawl the hostile site once; all tests look at what came of it."""
    workspace = tmp_path_factory.mktemp("namespace") / "w"
    script = Path(canary.__file__)
    result = subprocess.run(
        ["unshare", "-n", sys.executable, str(script), str(workspace), *FLAGS],
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    export = subprocess.run(
        [sys.executable, "-m", "gossamer.cli", "export", "--dir", workspace, "--format", "jsonl"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    rows = {str(row["url"]): row for row in read_jsonl(export.stdout)}
    return Told(report["exit_code"], report["connections"], report["questions"], rows)


def test_no_connection_is_made_to_a_forbidden_address(told: Told):
    """Only the start hosts and what stands for the Internet were connected to."""
    unwelcome = {
        place: count
        for place, count in told.connections.items()
        if not canary.is_welcome(place.split()[0], int(place.split()[1]))
    }
    assert unwelcome == {}
    assert told.connections[f"{canary.SITE} {canary.PORT}"] > 0
    assert told.connections[f"{canary.PUBLIC} {canary.PORT}"] > 0
    assert set(canary.ROBOTS_HOSTS) <= {place.split()[0] for place in told.connections}


def test_every_attempt_is_classed(told: Told):
    """Each spelling by each way there is known as a URL that the address policy kept out."""
    attempts = {
        (vector, number)
        for vector, places in canary.VECTORS.items()
        for number in range(len(places))
    }
    assert len(attempts) >= 5_000
    classed = {}
    for url, row in told.rows.items():
        token = re.search(r"/t/([a-z]+)/([0-9]+)$", url)
        if token:
            classed[token[1], int(token[2])] = (row["outcome"], row["state"])
            bad_port = port_refusal(port_of(url)) is not None
            expected = "policy.port" if bad_port else "policy.private_address"
            assert (row["outcome"], row["state"]) == (expected, "excluded"), url
    assert set(classed) == attempts


def test_a_redirect_to_another_scheme_has_its_class(told: Told):
    site = f"http://{canary.SITE}:{canary.PORT}"
    for number in range(len(canary.SCHEMES)):
        assert told.rows[f"{site}/scheme/{number}"]["outcome"] == "redir.scheme"


def test_a_link_to_a_bad_port_has_its_class(told: Told):
    assert told.rows["http://public.test:22/"]["outcome"] == "policy.port"


def test_a_robots_txt_that_leads_into_the_private_network_counts_as_unreachable(told: Told):
    assert told.exit_code == 5
    details = []
    for host in canary.ROBOTS_HOSTS:
        row = told.rows[f"http://{host}:{canary.PORT}/"]
        assert (row["state"], row["outcome"]) == ("pending", "policy.robots_unreachable")
        details.append(str(row["detail"]))
    assert sum("not public" in detail for detail in details) >= len(canary.ROBOTS_HOSTS) // 2


def test_a_name_with_a_forbidden_address_is_refused_whatever_else_it_has(told: Told):
    forbidden = [
        name
        for name, answers in canary.NAMES.items()
        if len(answers) == 1 and answers[0] != (canary.PUBLIC,)
    ]
    assert len(forbidden) >= 12
    for name in forbidden:
        assert told.classes_of(name) == {"policy.private_address"}, name
    assert told.rows[f"http://public.test:{canary.PORT}/"]["outcome"] == "ok"


@pytest.mark.parametrize("name", ["rebind.test", "rebind-mixed.test", "pinned.test"])
def test_a_name_that_changes_to_a_forbidden_address_is_refused_from_then_on(told: Told, name: str):
    """The second answer is asked for, and refused; for a start host too, whose first one counts."""
    assert told.questions[name] >= 2
    assert told.classes_of(name) == {"ok", "policy.private_address"}


def test_a_name_that_was_refused_is_not_tried_again_in_the_hope_of_better(told: Told):
    assert told.classes_of("rebind-back.test") == {"policy.private_address"}
    assert told.questions["rebind-back.test"] == 1
