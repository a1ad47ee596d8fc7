"""URLs of a host without gaps go out together, which makes no difference but to what it costs."""

from hypothesis import given
from hypothesis import strategies as st
from urlserver_setup import NEVER, due, make

from gossamer.messages import Done, Due, Manner
from gossamer.outcomes import Outcome
from gossamer.urlserver.urlserver import FetchRobots, Resolution, RobotsAnswer, UrlServer

RULES = RobotsAnswer(Outcome.OK, 200, b"User-agent: *\nDisallow: /no\n")
NO_RULES = RobotsAnswer(Outcome.HTTP_4XX, 404)
ENDS = (Outcome.OK, Outcome.OK, Outcome.OK, Outcome.HTTP_4XX, Outcome.NET_REFUSED, Outcome.HTTP_429)

urls = st.builds(
    "{}://{}.test{}/{}".format,
    st.sampled_from(["http", "http", "https"]),
    st.sampled_from("ab"),
    st.sampled_from(["", "", ":8000"]),
    st.sampled_from(["x", "y?z=1", "no", "no/more", ""]),
)
manners = st.sampled_from([None, None, None, Manner(agent="other")])
batches = st.lists(st.tuples(urls, manners), max_size=8)
steps = st.lists(
    st.tuples(batches, st.integers(0, 6), st.lists(st.sampled_from(ENDS), max_size=5)), max_size=8
)


class OneByOne:
    """A server whose URLs go out one by one."""

    def __new__(cls, **settings) -> UrlServer:
        server = make(**settings)
        server._turns._dispatch._send_alike = lambda *_: 0
        return server


def settle(server: UrlServer, now: float) -> list[object]:
    """Answer every need: one port has rules, the others have none."""
    asked = []
    while needs := server.needs(now):
        asked += needs
        for need in needs:
            if isinstance(need, FetchRobots):
                answer = RULES if ":8000" in need.authority else NO_RULES
                server.robots_answer(need.authority, answer, now)
            else:
                server.resolved(need.host, Resolution(("10.0.0.1",), NEVER), now)
    return asked


def story(server: UrlServer, script: list[tuple[list[Due], int, list[Outcome]]]) -> list[object]:
    """Return all that a server has done in the course of a script."""
    told: list[object] = []
    out = []
    now = 1.0
    for batch, room, ends in script:
        now += 0.5
        server.offer(batch, now)
        told.append(settle(server, now))
        visits = server.orders(now, room)
        told += [visits, settle(server, now), server.verdicts(now), server.returned(now)]
        out += visits
        ended, out = out[: len(ends)], out[len(ends) :]
        done = [
            Done(visit.trans_id, int(end), 200, now)
            for visit, end in zip(ended, ends, strict=False)
        ]
        server.all_done(done, now)
        told += [server.stats(), server.wake_at(now), server.host_clocks(now)]
        told.append([server.due_of(visit.trans_id) for visit in out])
    return told


@given(
    steps,
    st.integers(1, 4),
    st.integers(0, 3),
    st.sampled_from([2, 5, 100]),
    st.sampled_from([0.0, 0.0, 4.0]),
)
def test_urls_that_go_out_together_go_out_as_they_would_one_by_one(
    script, per_host, per_address, queue_len, per_second
):
    settings = {
        "host_concurrent": per_host,
        "address_concurrent": per_address,
        "queue_len": queue_len,
        "host_per_second": per_second,
    }
    dues = [
        ([due(url, manner=manner) for url, manner in batch], room, ends)
        for batch, room, ends in script
    ]
    assert story(make(**settings), dues) == story(OneByOne(**settings), dues)


def test_what_robots_txt_forbids_ends_between_others_that_go_out():
    server = make(host_concurrent=9)
    batch = [due(f"http://a.test:8000/{path}") for path in ("x", "no", "y", "z")]
    server.offer(batch, 1.0)
    settle(server, 1.0)
    server.orders(1.0, 9)
    settle(server, 1.0)
    assert [visit.doc_id for visit in server.orders(1.0, 9)] == [
        each.doc_id for each in batch if not each.url.endswith("no")
    ]
    assert [ended.due for ended in server.verdicts(1.0)] == [batch[1]]
