"""Settings that may be secret: they are used and never written down."""

import re
from typing import Final

from msgspec.structs import replace

from gossamer.config.settings import Settings

_LOGIN: Final = re.compile("(?:(?<=//)|^)[^/]*@")


def without_secrets(settings: Settings) -> Settings:
    """Return the settings as they may be kept: without headers, passwords and log-ins."""
    spider = settings.spider
    kept = replace(
        spider,
        headers={},
        credentials={},
        proxy=without_login(spider.proxy),
        proxies=tuple(each.rpartition("@")[2] for each in spider.proxies),
    )
    return replace(settings, spider=kept)


def without_login(proxy: str) -> str:
    """Return a proxy without user name and password."""
    return _LOGIN.sub("", proxy)


def secrets_in(settings: Settings) -> list[str]:
    """Name what `without_secrets` leaves out, for people."""
    spider = settings.spider
    names = [f"the header {name}" for name in spider.headers]
    names += [f"the password for {domain}" for domain in spider.credentials]
    return names + (["the log-in at the proxy"] if _LOGIN.search(spider.proxy) else [])
