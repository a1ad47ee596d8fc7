"""All settings of a run: one table for each room."""

from msgspec import Struct, field

from gossamer.config.catalog import CatalogSettings
from gossamer.config.crawl import CrawlSettings
from gossamer.config.handlers import HandlerSettings
from gossamer.config.news import NewsSettings
from gossamer.config.parse import ParseSettings
from gossamer.config.spider import SpiderSettings
from gossamer.config.store import StoreSettings
from gossamer.config.url import UrlSettings
from gossamer.config.urlserver import UrlServerSettings
from gossamer.config.wire import WireSettings


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `load` gives; each room is handed its own table only."""

    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    urlserver: UrlServerSettings = field(default_factory=UrlServerSettings)
    spider: SpiderSettings = field(default_factory=SpiderSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    wire: WireSettings = field(default_factory=WireSettings)
    catalog: CatalogSettings = field(default_factory=CatalogSettings)
    parse: ParseSettings = field(default_factory=ParseSettings)
    url: UrlSettings = field(default_factory=UrlSettings)
    handlers: HandlerSettings = field(default_factory=HandlerSettings)
    news: NewsSettings = field(default_factory=NewsSettings)
