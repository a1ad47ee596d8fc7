"""`make site` without a URL: start a synthetic web on loopback, crawl it, show what was found."""

import shutil
import subprocess
import sys
from pathlib import Path

from gossamer.fakeweb.process import FakeWeb


def main(folder: Path) -> int:
    """Crawl a small web of five hosts into a fresh folder."""
    if (folder / "catalog.db").exists():
        # The demo web gets a new port each time, so an old workspace is of no use to it.
        shutil.rmtree(folder)
    gossamer = [sys.executable, "-m", "gossamer.cli"]
    crawl = ["--scope", "any", "--allow-private", "--per-host", "4", "--delay", "0.02"]
    with FakeWeb(pages=300, hosts=5, seed=7, latency_ms=10, max_seconds=300) as web:
        print(
            f"A web of {web.options.pages} pages on {web.options.hosts} hosts is at {web.start_url}"
        )
        command = [*gossamer, "crawl", *web.start_urls, "--dir", str(folder), *crawl]
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - our own program
    if code == 0:
        command = [*gossamer, "status", "--dir", str(folder)]
        code = subprocess.run(command, check=False).returncode  # noqa: S603 - our own program
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
