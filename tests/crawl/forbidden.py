"""Addresses that a crawler must never connect to, in every spelling that a page can give them."""

import ipaddress
from collections.abc import Iterator

# Written down here again, and not taken from the program, so that a hole in its table shows.
NETWORKS_4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
)
NETWORKS_6 = (
    "::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/8",
    "fd00::/8",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
)
EMBEDDING = ("64:ff9b::/96", "2002::/16")
METADATA = "169.254.169.254"
OWN_PUBLIC = "8.8.4.4"
"""An address outside of all these networks that the machine itself has."""
_FULL_WIDTH = {ord(each): ord(each) + 0xFEE0 for each in "0123456789."}
_CIRCLED = str.maketrans("123456789", "①②③④⑤⑥⑦⑧⑨")


def addresses_4() -> list[str]:
    """Return the second and the last but one address of each network, and the famous ones."""
    found = [METADATA, "127.0.0.1", "0.0.0.0", "255.255.255.255", OWN_PUBLIC]
    for text in NETWORKS_4:
        network = ipaddress.IPv4Network(text)
        found += [str(network[1]), str(network[-2])]
    return list(dict.fromkeys(found))


def addresses_6() -> list[str]:
    """Return two addresses of each network, and the metadata address of one cloud."""
    found = ["::", "::1", "fd00:ec2::254"]
    for text in NETWORKS_6:
        network = ipaddress.IPv6Network(text)
        found += [str(network[0x10]), str(network[-2])]
    return list(dict.fromkeys(found))


def spellings_4(address: str) -> Iterator[str]:
    """Yield what stands between http:// and the path for one IPv4 address."""
    number = int(ipaddress.IPv4Address(address))
    first, second, third, fourth = parts = list(map(int, address.split(".")))
    high, low = f"{number >> 16:x}", f"{number & 0xFFFF:x}"
    yield address
    yield f"{address}."
    yield f"{address}:8080"
    yield f"{address}:22"
    yield f"user:word@{address}"
    yield f"93.184.216.34@{address}"
    yield f"93.184.216.34:80@{address}:80"
    yield str(number)
    yield f"0x{number:08x}"
    yield f"0X{number:X}"
    yield f"0{number:o}"
    yield ".".join(f"0{part:o}" for part in parts)
    yield ".".join(f"0x{part:x}" for part in parts)
    yield ".".join(f"{part:#05o}".replace("o", "0") for part in parts)
    yield f"{first}.{number & 0xFFFFFF}"
    yield f"{first}.{second}.{number & 0xFFFF}"
    yield f"0x{first:x}.0{second:o}.{third}.{fourth}"
    yield address.translate(_FULL_WIDTH)
    yield address.translate(_CIRCLED)
    yield address.replace(".", "。")
    yield address.replace(".", "｡")
    yield address.replace(".", "%2e")
    yield "".join(f"%{ord(character):02x}" for character in address)
    yield address[:1] + "\t" + address[1:]
    yield address[:1] + "\u00ad" + address[1:]
    yield f"[::ffff:{address}]"
    yield f"[::ffff:{high}:{low}]"
    yield f"[0:0:0:0:0:FFFF:{high}:{low}]"
    yield f"[::{high}:{low}]"
    yield f"[64:ff9b::{address}]"
    yield f"[2002:{high}:{low}::1]"


def spellings_6(address: str) -> Iterator[str]:
    """Yield what stands between http:// and the path for one IPv6 address."""
    long = ipaddress.IPv6Address(address).exploded
    yield f"[{address}]"
    yield f"[{address}]:8080"
    yield f"[{address.upper()}]"
    yield f"[{long}]"
    yield f"user@[{address}]"


def places() -> list[str]:
    """Return every spelling of every address."""
    found = [text for address in addresses_4() for text in spellings_4(address)]
    found += [text for address in addresses_6() for text in spellings_6(address)]
    return list(dict.fromkeys(found))
