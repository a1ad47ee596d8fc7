"""A Spider that stood still: suspended, swapped out, or waiting for its disk."""

from pathlib import Path

from spider_rig import UrlServer, order_line, until

from gossamer.clock import SystemClock
from gossamer.config.settings import Settings
from gossamer.daemons.peers import Endpoint, endpoint_of, listen
from gossamer.daemons.spider_daemon import SpiderDaemon
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.spool import Spool


class JumpingClock(SystemClock):
    """Goes on as time does, and jumps when told to."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


def test_orders_that_were_given_up_while_it_stood_still_are_not_fetched(tmp_path: Path):
    """The URL Server has ordered them again: fetched as well, they would come all at one moment."""
    clock, said = JumpingClock(), []
    with listen(Endpoint("127.0.0.1", 0), None, insecure=False) as listener:
        daemon = SpiderDaemon(
            Settings(),
            listener,
            Endpoint("127.0.0.1", 1),
            None,
            Spool(tmp_path, 1 << 20),
            clock,
            Notes(said.append, clock),
        )
        with UrlServer(endpoint_of(listener).port) as server:
            for _ in until(step=0.0):
                daemon.turn()
                server.listen(0.0)
                if server.credit:
                    break
            clock.ahead += 59.0
            for _ in range(3):
                daemon.turn()
            server.listen(0.0)
            assert not server.closed, "not yet: nobody has given it up"
            server.send_all([order_line(number, "http://127.0.0.1:1/") for number in range(3)])
            clock.ahead += 62.0
            for _ in until(step=0.0):
                daemon.turn()
                server.listen(0.0)
                if server.closed:
                    break
        assert daemon.orders == 0
        assert any("was held up for 6" in text for text in said)
        daemon.close()
