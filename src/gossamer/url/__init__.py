"""Text of a URL: its canonical form, its parts, and what may be visited.

In: text from pages and people, settings, addresses. Out: canonical URLs (`canonical.py`, the front
file), and verdicts: in scope or not (`scope.py`), address and port allowed or not (`address.py`),
trap or not (`traps.py`).
Never: network, disk, time.
"""
