"""The sites of hosts: those that are there, and those that a page brings about (4b.1)."""

import sqlite3

from gossamer.catalog.collecting_room import COLLECTING
from gossamer.catalog.service_members import Change, home_id
from gossamer.catalog.service_sites import copy_roots, make_site
from gossamer.objects.site import Site
from gossamer.url.parts import authority_of


def sites_of_host(connection: sqlite3.Connection, authority: str) -> list[int]:
    """Return the sets of the sites that have a root URL on a host, or its name as their id."""
    # The character after the slash ends what begins with it.
    bounds = (f"{authority}/", f"{authority}0")
    rows = connection.execute(COLLECTING["sites_of_host"], bounds).fetchall()
    named = (home_id(f"{authority}/"),)
    rows += connection.execute(COLLECTING["set_of_site"], named).fetchall()
    return list(dict.fromkeys(row[0] for row in rows))


def make_site_of(change: Change, url: str) -> list[int]:
    """Make the site of a URL, as URL_NEW with siteSelect AUTO does (S3.158); return its set."""
    site_id = home_id(url)
    if change.connection.execute(COLLECTING["is_being_deleted"], (site_id,)).fetchone():
        # Its contents must be gone before there is another one of the same name.
        return []
    site = make_site(change, Site(id=site_id, urls=[authority_of(url) + "/"]))
    copy_roots(change, site)
    return [site.set_id]
