"""Several daemons that crawl together, each a process of its own, on ports chosen beforehand."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from service_rig import program, write_ini
from test_service_whole import QUICK, Service

from held_ports import HeldPort

TOGETHER = {
    **QUICK,
    "Crawling": {**QUICK["Crawling"], "batch_size": "8", "max_batches": "2"},
}


@contextmanager
def held_ports(count: int) -> Iterator[list[int]]:
    """Give ports that nobody else gets, also while who listens on one is started anew."""
    with ExitStack() as closing:
        yield [closing.enter_context(HeldPort()).port for _ in range(count)]


class Hosts:
    """Daemons with the same list of hosts, and a client of all of them."""

    def __init__(self, folder: Path, ports: list[int], **changes: dict[str, str]) -> None:
        self.names = [f"127.0.0.1:{port}" for port in ports]
        self._folder = folder
        self.services = [
            Service(
                folder / f"host{number}",
                **{
                    **TOGETHER,
                    "Server": {"admin_port": "0", "client_port": str(ports[number])},
                    "Peers": {
                        "hosts": ", ".join(self.names),
                        "self": self.names[number],
                        "timeout_seconds": "30",
                    },
                    **changes,
                },
            )
            for number in range(len(ports))
        ]
        self._config = write_ini(folder / "all.ini", {"Client": {"hosts": ",".join(self.names)}})

    def tell(self, command: str, data: Any) -> Any:
        """Have all hosts do something; return their merged answer."""
        file = self._folder / "request.json"
        file.write_text(json.dumps(data))
        done = program(
            *("dc-client", "--command", command, "--file", file, "--config", self._config),
            cwd=self._folder,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return item_of_all(json.loads(done.stdout))

    def rows(self, site_id: str, urls: list[str]) -> list[dict[str, dict[str, Any]]]:
        """Return what each host knows of URLs."""
        wanted = [{"siteId": site_id, "url": url} for url in urls]
        return [
            {row["url"]: row for row in service.tell("URL_STATUS", wanted)}
            for service in self.services
        ]


def item_of_all(answer: Any) -> Any:
    """Return the object of a merged answer without errors."""
    (item,) = answer["itemsList"]
    assert set(str(item["errorCode"]).split(";")) == {"0"}, answer
    return item["itemObject"]


@contextmanager
def together(folder: Path, count: int = 3, **changes: dict[str, str]) -> Iterator[Hosts]:
    """Give running hosts."""
    with ExitStack() as closing:
        hosts = Hosts(folder, closing.enter_context(held_ports(count)), **changes)
        for service in hosts.services:
            closing.enter_context(service)
        yield hosts
