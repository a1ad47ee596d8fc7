"""The request: which header lines every server gets, and how it looks on the wire."""

from base64 import b64encode
from typing import Final

from gossamer.config.spider import SpiderSettings
from gossamer.errors import ConfigError
from gossamer.messages import Visit
from gossamer.spider.decode import ACCEPT_ENCODING
from gossamer.url.parts import authority_of, host_of

_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
# libcurl writes these itself; a second one would make the request ambiguous.
_OURS: Final = frozenset(
    ("host", "user-agent", "content-length", "transfer-encoding", "connection")
)

_SECRET: Final = frozenset(("authorization", "cookie"))


class RequestForm:
    """Builds what is sent from the settings and a visit."""

    def __init__(self, settings: SpiderSettings) -> None:
        fields = {
            "accept": ("Accept", _ACCEPT),
            "accept-encoding": ("Accept-Encoding", ACCEPT_ENCODING),
        }
        plain = dict(fields)
        for name, value in settings.headers.items():
            _check_header(name, value)
            fields[name.lower()] = (name, value)
        self._fields = fields
        self._named_lines = [f"{name}: {value}" for name, value in fields.values()]
        self._named_hosts = frozenset(settings.header_hosts)
        """Whole hosts, or scheme, host and port of one server there."""
        self._authorizations = {
            domain.lower().strip("."): _basic(domain, pair)
            for domain, pair in settings.credentials.items()
        }
        # What is meant for some hosts only may be secret: other hosts and the archive never see it.
        usual = plain if self._named_hosts else fields
        self.lines = [f"{name}: {value}" for name, value in usual.values()]
        # Nor does the archive see what is secret by its name.
        self._shown = {name: field for name, field in usual.items() if name not in _SECRET}
        self._shown_lines = [f"{name}: {value}" for name, value in self._shown.values()]
        self.is_uniform = not (self._named_hosts or self._authorizations)
        """Whether all hosts get the same lines, as far as a visit has none of its own."""
        self.has_cookie = "cookie" in fields
        self.has_secrets = self._shown_lines != self.lines
        """Whether more is sent than is shown."""
        self._user_agent = settings.user_agent
        if not _is_clean(settings.user_agent):
            raise ConfigError(
                f"user_agent = {settings.user_agent!r} in [spider] cannot be sent; "
                "use printable ASCII characters"
            )
        self._end = self._make_end(self._shown_lines)
        # Of the last plain request: its URL up to the path, and what follows the path.
        self._base, self._rest = "/", ""

    def lines_for(self, visit: Visit) -> list[str] | None:
        """Return the header lines for a visit that has its own; None for all others."""
        if visit.manner is not None and visit.manner.headers:
            return self._lines_in(visit.manner.headers, self._fields)
        if self.is_uniform:
            return None
        host = host_of(visit.url)
        is_named = not self._named_hosts.isdisjoint((host, authority_of(visit.url)))
        lines = self._named_lines if is_named else None
        authorization = self._authorization(host)
        return lines if authorization is None else [*(lines or self.lines), authorization]

    def _lines_in(
        self, headers: tuple[tuple[str, str], ...], usual: dict[str, tuple[str, str]]
    ) -> list[str]:
        """Return the usual lines, with others in their place."""
        fields = dict(usual)
        for name, value in headers:
            # What cannot be sent is left out: it comes from whoever handed the site over.
            if _is_sendable(name, value):
                fields[name.lower()] = (name, value)
        return [f"{name}: {value}" for name, value in fields.values()]

    def _authorization(self, host: str) -> str | None:
        """Return what is sent to a host of a domain at which we have a name (S4.24)."""
        domain = host if self._authorizations else ""
        while domain:
            if domain in self._authorizations:
                return self._authorizations[domain]
            domain = domain.partition(".")[2]
        return None

    def conditions(self, visit: Visit) -> list[str]:
        """Return the header lines that make the request conditional; none if nothing is known."""
        lines = []
        if visit.etag and _is_clean(visit.etag):
            lines.append(f"If-None-Match: {visit.etag}")
        if visit.last_modified and _is_clean(visit.last_modified):
            lines.append(f"If-Modified-Since: {visit.last_modified}")
        return lines

    def head(
        self,
        url: str,
        more: list[str],
        version: str,
        method: str = "GET",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> bytes:
        """Return the request head as it goes out (for HTTP/2: as HTTP/1.1 would write it).

        `headers` are those of the visit. What is secret is left out.
        """
        end = self._end_with(more, headers) if more or headers else self._end
        slash = url.index("/", 8)
        host = url[url.index("/") + 2 : slash]
        spoken = "2" if version == "2" else "1.1"
        head = f"{method} {url[slash:]} HTTP/{spoken}\r\nHost: {host}\r\n{end}"
        return head.encode("latin-1")

    def plain_head(self, url: str) -> bytes:
        """Return the head of a GET over HTTP/1 with nothing of its own."""
        base = self._base
        if not url.startswith(base):
            self._base = base = url[: url.index("/", 8) + 1]
            self._rest = self._rest_for(base)
        return f"GET {url[len(base) - 1 :]}{self._rest}".encode("latin-1")

    def plain_rest(self, base: str) -> bytes:
        """Return what follows the path in such a head, for URLs that begin with `base`."""
        return self._rest_for(base).encode("latin-1")

    def _rest_for(self, base: str) -> str:
        return f" HTTP/1.1\r\nHost: {base[base.index('/') + 2 : -1]}\r\n{self._end}"

    def _end_with(self, more: list[str], headers: tuple[tuple[str, str], ...]) -> str:
        lines = self._shown_lines
        if headers:
            shown = tuple(each for each in headers if each[0].lower() not in _SECRET)
            lines = self._lines_in(shown, self._shown)
        return self._make_end(lines + more)

    def _make_end(self, lines: list[str]) -> str:
        agent = [f"User-Agent: {self._user_agent}"]
        if any(line[:11].lower() == "user-agent:" for line in lines):
            agent = []
        return "\r\n".join((*agent, *lines, "", ""))


def _basic(domain: str, pair: str) -> str:
    if ":" not in pair:
        raise ConfigError(
            f"credentials of {domain!r} in [spider] cannot be sent; write them as user:password"
        )
    return f"Authorization: Basic {b64encode(pair.encode()).decode()}"


def _check_header(name: str, value: str) -> None:
    if name.lower() in _OURS:
        raise ConfigError(
            f"header {name!r} in [spider] headers is set by gossamer itself; remove it"
        )
    if not _is_sendable(name, value):
        raise ConfigError(
            f"header {name!r} in [spider] headers cannot be sent; "
            "a name is one token, a value has printable ASCII characters only"
        )


def _is_sendable(name: str, value: str) -> bool:
    token = name and _is_clean(name) and not set(name) & set(' ":;,()<>@[]{}=?/\\')
    # libcurl lets a User-Agent line win over the one that it would send.
    is_ours = name.lower() in _OURS and name.lower() != "user-agent"
    return bool(token) and not is_ours and _is_clean(value)


def _is_clean(text: str) -> bool:
    """Whether it can stand in a header line without starting another."""
    return text.isascii() and text.isprintable()
