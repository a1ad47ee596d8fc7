"""Host numbers as authorities and loopback addresses, and back."""

from typing import Final

from gossamer.fakeweb.options import Options

DOMAIN: Final = "fake.test"
_LAST: Final = 254


class Hosts:
    """The hosts of one fake web, once its port is known."""

    def __init__(self, options: Options, port: int) -> None:
        self._options = options
        self.port = port
        self.count = options.hosts
        self._addresses = options.addresses or options.hosts

    def name(self, host: int) -> str:
        """Return the host part of a host's URLs."""
        return f"h{host}.{DOMAIN}" if self._options.names else self.address(host)

    def address(self, host: int) -> str:
        """Return the loopback address that serves a host."""
        return _address(host % self._addresses)

    def authority(self, host: int) -> str:
        """Return name and port as they stand in URLs and Host headers."""
        return f"{self.name(host)}:{self.port}"

    def number(self, authority: str) -> int | None:
        """Return the host with this authority or bare name, or None."""
        name, _, port = authority.lower().partition(":")
        if port and port != str(self.port):
            return None
        host = _number_of_name(name) if self._options.names else _number_of_address(name)
        return host if host is not None and host < self.count else None


def _address(number: int) -> str:
    third, last = divmod(number, _LAST)
    second, third = divmod(third, _LAST)
    return f"127.{16 + second}.{third}.{last + 1}"


def _number_of_address(address: str) -> int | None:
    parts = address.split(".")
    if (
        len(parts) != 4
        or parts[0] != "127"
        or not all(part.isascii() and part.isdigit() for part in parts)
    ):
        return None
    _, second, third, last = map(int, parts)
    number = ((second - 16) * _LAST + third) * _LAST + last - 1
    return number if number >= 0 and _address(number) == address else None


def _number_of_name(name: str) -> int | None:
    label, _, domain = name.partition(".")
    digits = label[1:]
    if domain != DOMAIN or label[:1] != "h" or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) if digits == str(int(digits[:12])) else None
