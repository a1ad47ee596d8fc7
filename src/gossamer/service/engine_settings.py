"""The settings of the engine, as those of the service make them."""

from gossamer.config.load import load
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.objects.headers import parse_cookies, parse_headers
from gossamer.objects.problems import ObjectError
from gossamer.objects.wishes import agent_of
from gossamer.service.settings import ServiceSettings
from gossamer.store.content_storage import StorageType
from gossamer.wording import visible


def engine_settings_of(settings: ServiceSettings, *, allow_private: bool = False) -> Settings:
    """Return how the engine crawls: sites say how fast, and with which headers."""
    fetch = settings.fetch
    in_archive = settings.storage.content_storage_type == StorageType.WARC
    return load(
        None,
        {
            "url": {"allow_private": allow_private or fetch.allow_private},
            # Each URL has a delay of its own (S3.55).
            "urlserver": {"host_per_second": 0.0},
            "spider": {
                **_identity(settings),
                "max_doc_bytes": fetch.max_resource_bytes,
                "max_wire_bytes": fetch.max_resource_bytes,
                "proxies": fetch.proxies,
                "proxy_by_name": fetch.proxy_by_name,
            },
            "store": {} if in_archive else _raw_files(settings),
        },
    )


def _raw_files(settings: ServiceSettings) -> dict[str, object]:
    return {
        "keep": False,
        "raw_folder": str(settings.raw_dir),
        "raw_keeps_old": settings.storage.keep_old_resources,
    }


def _identity(settings: ServiceSettings) -> dict[str, object]:
    """Return the headers of sites that name none (S3.51, S3.52), and who asks by them."""
    headers = _headers(settings)
    named = [name for name in headers if name.lower() == "user-agent"]
    if not named:
        return {"headers": headers}
    agent = headers.pop(named[0])
    token = agent_of([("User-Agent", agent)])
    if not token:
        raise ConfigError(
            f"cannot use the default headers: the User-Agent {visible(agent)!r} must begin with "
            "a name of letters, such as ExampleBot/1.0; robots.txt files speak to it"
        )
    return {"headers": headers, "user_agent": agent, "robots_agent": token}


def _headers(settings: ServiceSettings) -> dict[str, str]:
    fetch = settings.fetch
    headers: dict[str, str] = {}
    try:
        if fetch.headers_file:
            for name, values in parse_headers(_text(settings, fetch.headers_file)):
                headers[name] = values[0]
        if fetch.cookie_file:
            cookies = parse_cookies(_text(settings, fetch.cookie_file))
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    except ObjectError as error:
        raise ConfigError(f"cannot use the default headers or cookies: {error}") from error
    return headers


def _text(settings: ServiceSettings, name: str) -> str:
    place = settings.place(name)
    try:
        return place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the headers in {place}: {error}") from error
