"""The two formats in which the daemons speak: lines of ASCII, and binary results.

In: bytes from a link, or what is to be said on one. Out: orders, status messages and results, or
the bytes that stand for them. Never: opens a socket, reads a clock, keeps more of a peer's bytes
than its limits say, or raises anything but WireError over them.

`lines.py` is the link between URL Server and Spider, `results.py` the link from the Spider to the
Store Server, `enumerations.py` the one-byte codes of the latter, `exchange.py` how a Fetch becomes
a result and a result a Fetch, `readable.py` what people see of a link. The document for them is
docs/reference/wire.md.
"""
