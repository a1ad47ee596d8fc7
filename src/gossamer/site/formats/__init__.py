"""The formats of a site map, one module each.

In: a SiteMap. Out: bytes. Never: decides where they go; `site/writing.py` does.
"""
