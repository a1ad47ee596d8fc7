"""Where a daemon listens or dials: `HOST:PORT`."""

import errno
import ipaddress
import re
import socket
from typing import Any, Final

from msgspec import Struct

from gossamer.errors import InputError

_BRACKETED: Final = re.compile(r"\[([0-9A-Fa-f:.%\w]+)\]:([0-9]{1,5})", re.ASCII)
_NAMED: Final = re.compile(r"([^\s:\[\]]+):([0-9]{1,5})", re.ASCII)
_LOCAL_NAME: Final = "localhost"
_BACKLOG: Final = 128
# A peer whose machine vanished is noticed after about a minute and a half without traffic.
_KEEPALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


class Endpoint(Struct, frozen=True):
    """A host (name or address, without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_endpoint(text: str) -> Endpoint:
    """Read `HOST:PORT` or `[IPv6]:PORT`; port 0 stands for any that is free."""
    found = _BRACKETED.fullmatch(text) or _NAMED.fullmatch(text)
    if found is None or int(found[2]) > 65_535:
        raise InputError(
            f"{text!r} is not HOST:PORT; write it as 127.0.0.1:4000, [::1]:4000 or name:4000"
        )
    return Endpoint(found[1], int(found[2]))


def parse_target(text: str) -> Endpoint:
    """Read the `HOST:PORT` of somebody who is to be dialled: nobody listens on port 0."""
    endpoint = parse_endpoint(text)
    if not endpoint.port:
        raise InputError(f"cannot connect to {endpoint}: give the port of 1 to 65535 it listens on")
    return endpoint


def require_trust(endpoint: Endpoint, *, has_secret: bool, insecure: bool) -> None:
    """Complain of a peer on another machine that nobody can tell from others.

    Who speaks to one without a secret can neither know that it is the right one, nor keep others
    from reading what is said.
    """
    is_here = endpoint.host == _LOCAL_NAME or is_loopback(endpoint.host)
    if not (is_here or has_secret or insecure):
        raise InputError(
            f"cannot connect to {endpoint}: it is another machine, and there is no secret; "
            "set [wire] secret_file or GOSSAMER_SECRET on both ends, or say --insecure"
        )


def listen(endpoint: Endpoint, secret: bytes | None, insecure: bool) -> socket.socket:
    """Return a non-blocking listener; one that strangers can reach needs a secret, or courage."""
    listener = bind(endpoint, secret, insecure)
    try:
        begin_to_listen(listener, endpoint)
    except InputError:
        listener.close()
        raise
    return listener


def bind(endpoint: Endpoint, secret: bytes | None, insecure: bool) -> socket.socket:
    """Return a listener that does not listen yet: callers are refused until we are ready."""
    try:
        family, address = _resolve(endpoint)[0]
    except OSError as error:
        raise InputError(
            f"cannot listen on {endpoint}: no address is known for {endpoint.host}"
        ) from error
    if not (secret or insecure or is_loopback(address[0])):
        raise InputError(
            f"cannot listen on {endpoint}: other machines can reach it, and there is no secret; "
            "set [wire] secret_file or GOSSAMER_SECRET on both ends, or say --insecure"
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # What was asked for, and not all of IPv4 besides.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise _refused(endpoint, error) from error
    return listener


def begin_to_listen(listener: socket.socket, endpoint: Endpoint) -> None:
    """Let callers in; somebody else may have begun to listen there since we were bound."""
    try:
        listener.listen(_BACKLOG)
    except OSError as error:
        raise _refused(endpoint, error) from error


def _refused(endpoint: Endpoint, error: OSError) -> InputError:
    return InputError(
        f"cannot listen on {endpoint}: {error.strerror}; choose another address or port "
        "(port 0 takes any that is free)"
    )


def endpoint_of(end: socket.socket) -> Endpoint:
    """Return where a socket is bound: what a listener on port 0 was given."""
    host, port = end.getsockname()[:2]
    return Endpoint(host, port)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


def dial(endpoint: Endpoint, attempt: int = 0) -> socket.socket:
    """Begin to connect, without waiting; each attempt takes the next address of the name.

    Raises OSError if it fails at once, as for a name without address; otherwise the socket tells
    later. A name is looked up by the system, which may take a while.
    """
    choices = _resolve(endpoint)
    family, address = choices[attempt % len(choices)]
    end = socket.socket(family, socket.SOCK_STREAM)
    try:
        tune(end)
        try:
            end.connect(address)
        except BlockingIOError:
            pass
    except BaseException:
        end.close()
        raise
    return end


def tune(end: socket.socket) -> None:
    """Set a connection up as all links are: never blocking, without delay, kept alive."""
    end.setblocking(False)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            end.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _resolve(endpoint: Endpoint) -> list[tuple[int, Any]]:
    """Return (family, address) of the endpoint, IPv4 first: `localhost` then means what it says."""
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(errno.EINVAL, f"{endpoint.host} is not a host name") from error
    choices = [(int(family), address) for family, _, _, _, address in found]
    return sorted(choices, key=lambda choice: choice[0] != socket.AF_INET)
