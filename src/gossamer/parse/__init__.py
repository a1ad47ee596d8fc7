"""Bytes become meaning.

In comes a Document (a fetch whose bytes are stored); out goes a Page: its real type, charset,
title, links, assets, sitemap entries, robots directives and a fingerprint of its text. Feeds and
lists of feeds have records of their own (feed.py, opml.py). Pages that are processed by the rules
of a site become contents (scraper.py). Pure functions, each with limits.

This room never fetches, never stores, never decides whether a link is followed, and never raises
for what the web sends: a page that cannot be understood is a Page with a PARSE_* outcome.

Front file: page.py.
"""
