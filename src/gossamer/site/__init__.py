"""The site map of one domain.

In: a start URL, or what a crawl of one site found, page by page.
Out: a map of its pages with their assets, in any of the formats; findings of an audit; a comparison
with an earlier map.
Never: fetches, or decides when something is fetched: it sets up the ring, which does that.
"""
