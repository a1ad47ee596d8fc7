"""CPU time of the URL server: `python bench/urlserver.py`.

One pair is one order from orders() and its done(). Prints microseconds a pair for many hosts, for
one host, for many hosts on one address, for hosts with gaps (with started()), and what one question
about robots.txt costs: with the whole file given to the matcher, and with the lines that matter.
"""

import time
from itertools import count

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Done, Due
from gossamer.outcomes import Outcome
from gossamer.urlserver.robots_rules import RuleSet
from gossamer.urlserver.urlserver import Resolution, RobotsAnswer, UrlServer

_FOREVER = 1e12
_NO_ROBOTS = RobotsAnswer(Outcome.HTTP_4XX, status=404)


def settings(**changes) -> UrlServerSettings:
    chosen = {"queue_count": 20_000, "queue_len": 200, "host_per_second": 0.0} | changes
    return UrlServerSettings(**chosen)


def filled(server: UrlServer, hosts: int, per_host: int, now: float, address_of) -> None:
    """Offer URLs of hosts whose addresses and robots.txt are known already."""
    numbers = count(1)
    for host in range(hosts):
        name = f"http://h{host}.test"
        server.restore_robots(name, _NO_ROBOTS, age_seconds=0, now=now)
    batch = [
        Due(next(numbers), f"http://h{host}.test/page/{page}", f"h{host}.test")
        for page in range(per_host)
        for host in range(hosts)
    ]
    server.offer(batch, now)
    for need in server.needs(now):
        server.resolved(need.host, Resolution((address_of(need.host),), _FOREVER), now)


def pairs(
    chosen: UrlServerSettings, hosts: int, per_host: int, concurrency: int, address_of
) -> float:
    """Return CPU microseconds a pair with `concurrency` orders out all the time."""
    server = UrlServer(chosen, robots_agent="gossamer")
    now = 1_000.0
    filled(server, hosts, per_host, now, address_of)
    total = hosts * per_host
    out: list = []
    done = 0
    spent = time.process_time()
    while done < total:
        now += 0.001
        visits = server.orders(now, concurrency - len(out))
        out += visits
        for visit in visits:
            if visit.report_start:
                server.started(visit.trans_id, now)
        finished, out = out[: concurrency // 2 + 1], out[concurrency // 2 + 1 :]
        for visit in finished:
            server.done(Done(visit.trans_id, 1, 200, now), now)
        done += len(finished)
        if not finished:
            now = max(now, server.wake_at(now) or now)
    spent = time.process_time() - spent
    assert server.stats().queued == 0
    return spent / total * 1e6


def own_address(host: str) -> str:
    number = int(host[1:].partition(".")[0])
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def main() -> None:
    report = (
        ("10,000 hosts, 10,000 addresses", settings(), 10_000, 20, 1_000, own_address),
        ("100 hosts", settings(), 100, 200, 64, own_address),
        (
            "1 host, concurrency 16",
            settings(host_concurrent=16, queue_len=100_000),
            1,
            100_000,
            16,
            own_address,
        ),
        (
            "10,000 hosts on one address",
            settings(address_concurrent=1_000),
            10_000,
            20,
            1_000,
            lambda _: "10.0.0.1",
        ),
        ("10,000 hosts with gaps", settings(host_per_second=100.0), 10_000, 20, 1_000, own_address),
    )
    for name, chosen, hosts, per_host, concurrency, address_of in report:
        microseconds = min(
            pairs(chosen, hosts, per_host, concurrency, address_of) for _ in range(2)
        )
        print(f"{name:34} {microseconds:7.2f} µs a pair {1e6 / microseconds:10,.0f} pairs/s")
    body = b"User-agent: *\n" + b"".join(
        b"Disallow: /*?x%d=\nDisallow: /dir%d/\n" % (number, number) for number in range(50)
    )
    rules = RuleSet(body, "gossamer")
    paths = [f"/some/path/{number}.html?y=2" for number in range(5_000)]
    print(f"{'robots.txt of 100 rules':34} {timed(rules.allows, paths):7.2f} µs a URL")


def timed(function, arguments) -> float:
    spent = time.process_time()
    for argument in arguments:
        function(argument)
    return (time.process_time() - spent) / len(arguments) * 1e6


if __name__ == "__main__":
    main()
