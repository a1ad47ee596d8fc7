"""The page about the service: what it shows is run, one block after another."""

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from hosts_rig import held_ports
from service_rig import BIN, EXAMPLES, program, wait_for

from gossamer.fakeweb.process import FakeWeb

PAGE = EXAMPLES.parent.parent / "docs" / "how-to" / "service.md"


def blocks(text: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def prepared(block: str, web: FakeWeb, ports: list[int]) -> str:
    """Have a block of the page visit the web of this test, over ports that are free."""
    admin, client = ports
    server = f"[Server]\nadmin_port = {admin}\nclient_port = {client}\n"
    places = f"[Client]\nhosts = 127.0.0.1:{client}\nadmin_host = 127.0.0.1:{admin}\n"
    quick = "[Crawling]\nperiod_seconds = 0.2\n[Fetch]\nallow_private = 1\n"
    block = block.replace("\nEND\n", f"\n{server}{places}{quick}END\n")
    return block.replace("https://example.org/", web.start_url)


def test_the_commands_of_the_page_work(tmp_path):
    shown = blocks(PAGE.read_text(encoding="utf-8"))
    assert len(shown) >= 6
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "service")
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    log = tmp_path / "dc-daemon.log"
    with FakeWeb(pages=20, hosts=1, seed=3, max_seconds=600) as web, held_ports(2) as ports:
        try:
            for block in shown:
                done = subprocess.run(
                    ["bash", "-e", "-c", prepared(block, web, ports)],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=300,
                    check=False,
                )
                assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
                if "--daemon" in block:
                    wait_for(lambda: _is_ready(log), "the daemon")
        finally:
            with suppress(OSError):
                program(
                    *("dc-admin", "--cmd", "STOP", "--host", f"127.0.0.1:{ports[0]}"),
                    *("--timeout", "5"),
                    cwd=tmp_path,
                )
    assert log.read_text().endswith("dc-daemon: stopped\n")


def _is_ready(log: Path) -> bool:
    return log.exists() and ": ready\n" in log.read_text()
