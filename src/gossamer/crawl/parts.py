"""What a coordinator is put together from; `pipeline.py` makes and connects them."""

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.crawl.crew import Crew
from gossamer.crawl.keeper import Keeper
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.names import Names
from gossamer.crawl.recall import Recall
from gossamer.crawl.robots import RobotsDesk
from gossamer.crawl.stops import Stops
from gossamer.crawl.writer import Writer
from gossamer.spider.spider import Spider
from gossamer.urlserver.urlserver import UrlServer


class Parts(Struct, frozen=True):
    """The rooms of a crawl as one process holds them."""

    settings: Settings
    clock: Clock
    spider: Spider
    names: Names
    urlserver: UrlServer
    robots: RobotsDesk
    crew: Crew
    writer: Writer
    keeper: Keeper
    recall: Recall
    ledger: Ledger
    stops: Stops
    ahead: int = 0
    """How many orders workers may be given ahead of their time."""
