"""The engine and a hub together: a push brings a story at once that a poll would bring later."""

import sqlite3
import subprocess
import sys

from hub_rig import PATIENCE_SECONDS, Hub, until

from gossamer.news.websub import listen
from held_ports import HeldPort
from press import press


def test_a_push_brings_a_story_long_before_the_next_poll(tmp_path, gossamer):
    directory = tmp_path / "news"
    with press() as paper, Hub() as hub, HeldPort() as held:
        port = held.port
        hub.listener = ("127.0.0.1", port)
        paper.story("/1", "One")
        paper.story("/2", "Two")
        publish(paper, hub, "/1")
        gossamer("news", "add", "--no-check", paper.url("/feed"), "--dir", directory)
        command = ["news", "run", "--allow-private", "--delay", "0", "--quiet", "--no-extract"]
        callback = ["--set", "news.callback_url=http://127.0.0.1/websub"]
        listening = ["--set", f"news.callback_listen=127.0.0.1:{port}"]
        where = ["--dir", str(directory)]
        engine = subprocess.Popen(
            [sys.executable, "-m", "gossamer.cli", *command, *callback, *listening, *where]
        )
        try:
            until(lambda: len(hub.confirmed) == 1, "subscribed")
            assert hub.confirmed[0].status == 200
            until(lambda: paper.asked("/1") == 1, "the first story")
            publish(paper, hub, "/2", "/1")
            # As if the last poll were long ago: a feed is not polled twice within half a minute.
            until(lambda: age_polls(directory), "polled")
            assert hub.distribute(hub.forms[0]).status == 202
            until(lambda: paper.asked("/2") == 1, "the second story")
            assert (paper.asked("/feed"), paper.asked("/1")) == (2, 1)
        finally:
            engine.terminate()
            code = engine.wait(PATIENCE_SECONDS)
        assert code == 143
        # Nothing listens any more: the listener has ended with the engine.
        with listen(f"127.0.0.1:{port}"):
            pass


def publish(paper, hub, *paths):
    """Serve a feed that names its hub."""
    items = "".join(
        f"<item><title>{path}</title><link>{paper.url(path)}</link></item>" for path in paths
    )
    feed = (
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>T</title>'
        f'<atom:link rel="hub" href="{hub.url}"/>'
        f'<atom:link rel="self" href="{paper.url("/feed")}"/>{items}</channel></rss>'
    )
    paper.routes["/feed"] = (200, {"Content-Type": "application/rss+xml"}, feed.encode())


def age_polls(directory):
    """Move the last poll into the past, once it is over; whether it was."""
    with sqlite3.connect(directory / "catalog.db", timeout=PATIENCE_SECONDS) as connection:
        changed = connection.execute(
            "UPDATE feed SET last_attempt_at = last_attempt_at - 1000 WHERE due_at > 0"
        ).rowcount
    connection.close()
    return changed > 0
