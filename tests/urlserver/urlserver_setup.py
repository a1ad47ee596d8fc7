"""A UrlServer that knows the hosts a test uses, and short ways to drive it."""

from itertools import count

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Done, Due
from gossamer.outcomes import Outcome
from gossamer.url.parts import authority_of, host_of
from gossamer.urlserver.urlserver import FetchRobots, Resolution, RobotsAnswer, UrlServer

NO_ROBOTS = RobotsAnswer(Outcome.HTTP_4XX, status=404)
NEVER = 1e12
_numbers = count(1)


def due(url: str, **fields) -> Due:
    return Due(next(_numbers), url, host_of(url), **fields)


def dues(host: str, number: int) -> list[Due]:
    return [due(f"http://{host}/{page}") for page in range(number)]


def make(**changes) -> UrlServer:
    chosen = {"host_per_second": 0.0} | changes
    return UrlServer(UrlServerSettings(**chosen), robots_agent="gossamer")


def prepare(server: UrlServer, now: float, address_of=lambda host: "10.0.0.1") -> None:
    """Answer every need: names with `address_of`, robots.txt with 404."""
    for _ in range(50):
        needs = server.needs(now)
        for need in needs:
            if isinstance(need, FetchRobots):
                server.robots_answer(need.authority, NO_ROBOTS, now)
            else:
                server.resolved(need.host, Resolution((address_of(need.host),), NEVER), now)
        if not needs:
            return


def offer(server: UrlServer, batch, now: float, address_of=lambda host: "10.0.0.1") -> None:
    """Offer URLs of hosts whose robots.txt is known to be missing."""
    for each in batch:
        server.restore_robots(authority_of(each.url), NO_ROBOTS, age_seconds=0, now=now)
    server.offer(batch, now)
    prepare(server, now, address_of)


def finish(
    server: UrlServer, visit, now: float, outcome=Outcome.OK, *, retry_after=None, sent_at=None
):
    sent = now if sent_at is None else sent_at
    return server.done(Done(visit.trans_id, int(outcome), 0, sent, retry_after), now)
