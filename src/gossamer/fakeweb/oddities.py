"""Well-formed answers with a purpose, under /~/: redirects, statuses, cookies, charsets."""

import re
from collections.abc import Callable
from html import escape
from itertools import count
from typing import Final
from urllib.parse import parse_qs, quote, unquote

from gossamer.fakeweb.raw import RAW
from gossamer.fakeweb.reply import Asked, Exchange, Reply, Script
from gossamer.fakeweb.scripts import SCRIPTS
from gossamer.fakeweb.traps import TRAPS, trap_page

ROOT: Final = "/~/"
_ETAG: Final = '"fakeweb-1"'
_DATE: Final = "Thu, 01 Jan 2026 00:00:00 GMT"
_PRIVATE: Final = ("http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/")


class Oddities:
    """Answers every path under /~/."""

    def __init__(self) -> None:
        self._changes = count(1)

    def answer(self, asked: Asked) -> Reply | Script:
        """Return the answer, well-formed or not, to a request for a path under /~/."""
        path, _, query = asked.target.partition("?")
        name, _, rest = path.removeprefix(ROOT).partition("/")
        if name in SCRIPTS and not rest:
            return SCRIPTS[name][2]
        if name == "raw" and rest in RAW:
            return _sender(RAW[rest][1])
        if name == "trap":
            page = trap_page(asked.target)
            return Reply(404) if page is None else Reply(200, page)
        if name == "changing":
            return Reply(200, f"<title>Changing</title><p>Version {next(self._changes)}.".encode())
        if name in _ODDITIES:
            return _ODDITIES[name][3](asked, rest, query)
        return Reply(200, _index()) if not name else Reply(404, b"<p>No such path.")


def _redirect(target: str, status: int = 302, *headers: tuple[str, str]) -> Reply:
    return Reply(status, b"<p>Elsewhere.", headers=(("Location", target), *headers))


def _redirect_loop(_asked: Asked, rest: str, _query: str) -> Reply:
    return _redirect(f"{ROOT}redirect-loop/{'b' if rest == 'a' else 'a'}")


def _redirect_self(asked: Asked, _rest: str, _query: str) -> Reply:
    return _redirect(asked.target)


def _redirect_chain(_asked: Asked, rest: str, _query: str) -> Reply:
    left = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 5 else 0
    if left == 0:
        return Reply(200, b"<title>End</title><p>The end of the chain.")
    return _redirect(f"{ROOT}redirect-chain/{left - 1}")


def _private_redirect(_asked: Asked, rest: str, _query: str) -> Reply:
    return _redirect(_PRIVATE[rest == "metadata"])


def _redirect_to(_asked: Asked, _rest: str, query: str) -> Reply:
    target = parse_qs(query).get("url", ["/"])[0]
    return _redirect(quote(target, safe="%/:=&?~#+!$,;'@()*[]"))


def _status(_asked: Asked, rest: str, query: str) -> Reply:
    status = int(rest) if re.fullmatch("[1-9][0-9][0-9]", rest) else 400
    wait = (
        unquote(query.partition("retry_after=")[2].partition("&")[0])
        .replace("\r", "")
        .replace("\n", "")
    )
    headers = (("Retry-After", wait),) if wait else ()
    return Reply(status, f"<title>{status}</title><p>Status {status}.".encode(), headers=headers)


def _etag(asked: Asked, _rest: str, _query: str) -> Reply:
    headers = (("ETag", _ETAG), ("Last-Modified", _DATE))
    same = asked.header("if-none-match") == _ETAG or (
        not asked.header("if-none-match") and asked.header("if-modified-since") == _DATE.lower()
    )
    return (
        Reply(304, headers=headers)
        if same
        else Reply(200, b"<title>Tagged</title><p>Same.", headers=headers)
    )


def _cookie(asked: Asked, _rest: str, _query: str) -> Reply:
    if "fakeweb=yes" in asked.header("cookie"):
        return Reply(200, b"<title>Cookie</title><p>Thank you for the cookie.")
    return _redirect(f"{ROOT}cookie", 302, ("Set-Cookie", "fakeweb=yes; Path=/~/"))


def _cookie_loop(asked: Asked, _rest: str, _query: str) -> Reply:
    """Set another cookie each time, and be content with none."""
    number = asked.header("cookie").count("x") + 1
    cookie = f"fakeweb={'x' * min(number, 100)}; Path=/~/"
    return _redirect(f"{ROOT}cookie-loop", 302, ("Set-Cookie", cookie))


def _meta_refresh(_asked: Asked, rest: str, _query: str) -> Reply:
    if rest == "target":
        return Reply(200, b"<title>Target</title><p>Arrived.")
    head = f'<meta http-equiv="refresh" content="0; url={ROOT}meta-refresh/target">'
    return Reply(200, f"<!DOCTYPE html>{head}<title>Refresh</title>".encode())


def _charset(_asked: Asked, rest: str, query: str) -> Reply:
    """Serve text in a charset that the header names or, with `in=meta`, only the page."""
    label = rest if rest.replace("-", "").replace("_", "").isalnum() else "utf-8"
    text = '<title>Grüße</title><p>äöü привет 日本語<a href="/~/?ä">a</a>'
    meta = f'<meta charset="{label}">' if "in=meta" in query else ""
    try:
        body = f"<!DOCTYPE html>{meta}{text}".encode(label, "xmlcharrefreplace")
    except (LookupError, UnicodeError):
        body = f"<!DOCTYPE html>{meta}{text}".encode()
    return Reply(200, body, "text/html" if meta else f"text/html; charset={label}")


def _robots_hop(_asked: Asked, rest: str, _query: str) -> Reply:
    # Hop 0 is answered by the site itself, which knows the host's rules.
    left = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 5 else 1
    return _redirect(f"{ROOT}robots-hop/{left - 1}")


def _sender(data: bytes) -> Script:
    async def send(exchange: Exchange, _asked: Asked) -> int:
        await exchange.send(data)
        return int(data[9:12]) if data[:9] == b"HTTP/1.1 " and data[9:12].isdigit() else 0

    return send


_Answer = Callable[[Asked, str, str], Reply]
# Name -> an example, what it does, the class of outcome at the example, the function.
_ODDITIES: Final[dict[str, tuple[str, str, str, _Answer]]] = {
    "redirect-loop": (
        "redirect-loop",
        "two URLs that redirect to each other",
        "redir.loop",
        _redirect_loop,
    ),
    "redirect-self": ("redirect-self", "redirects to itself", "redir.loop", _redirect_self),
    "redirect-chain": (
        "redirect-chain/21",
        "as many redirects as the number says",
        "redir.too_many",
        _redirect_chain,
    ),
    "redirect-to": (
        "redirect-to?url=/~/etag",
        "redirects to the URL in the query",
        "ok",
        _redirect_to,
    ),
    "private-redirect": (
        "private-redirect",
        "redirects to 10.0.0.1; with /metadata to 169.254.169.254",
        "policy.private_address",
        _private_redirect,
    ),
    "status": ("status/503?retry_after=2", "any status, with any Retry-After", "http.5xx", _status),
    "etag": ("etag", "ETag and Last-Modified; answers conditional requests with 304", "ok", _etag),
    "cookie": ("cookie", "redirects to itself until its cookie comes back", "ok", _cookie),
    "cookie-loop": (
        "cookie-loop",
        "redirects to itself with another cookie each time",
        "redir.loop",
        _cookie_loop,
    ),
    "meta-refresh": (
        "meta-refresh",
        "a meta element leads to /~/meta-refresh/target",
        "ok",
        _meta_refresh,
    ),
    "charset": (
        "charset/windows-1251",
        "the text in any charset; ?in=meta names it in the page",
        "ok",
        _charset,
    ),
    "robots-hop": ("robots-hop/2", "the redirects of a robots.txt", "ok", _robots_hop),
}


def table() -> list[tuple[str, str, str]]:
    """Return every path under /~/ with what it does and the outcome a crawler should give it."""
    rows = [(name, text, outcome) for name, (text, outcome, _) in SCRIPTS.items()]
    rows += [(example, text, outcome) for example, text, outcome, _ in _ODDITIES.values()]
    rows.append(("changing", "another text at each request", "ok"))
    rows += [(f"trap/{first}", text, "policy.trap") for first, text, _ in TRAPS.values()]
    rows += [(f"raw/{name}", "raw bytes", outcome) for name, (outcome, _) in RAW.items()]
    return [(ROOT + path, text, outcome) for path, text, outcome in rows]


def _index() -> bytes:
    rows = "".join(
        f'<tr><td><a href="{escape(path)}">{escape(path)}</a><td>{escape(text)}<td>{outcome}\n'
        for path, text, outcome in table()
    )
    return f"<!DOCTYPE html>\n<title>Oddities</title>\n<table>\n{rows}</table>\n".encode()
