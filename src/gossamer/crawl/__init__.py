"""The wiring: catalog -> urlserver -> spider -> store -> parse -> handlers -> catalog, and the processes.

In: a workspace folder, start URLs, settings. Out: a workspace with more in it, and a summary.
Never: a rule about politeness, a parser, an SQL statement; those have rooms of their own. `pipeline.py` is
the only file that knows all rooms.
"""
