-- News: who publishes, in which feeds, which stories came of them, and every download made for it.
-- What is fetched stays in the table of URLs: a download says what one of them is wanted for.

-- A medium whose stories are compared with each other.
CREATE TABLE source (
    source_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    home TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1,
    tags TEXT NOT NULL DEFAULT '',
    content_delay_seconds REAL NOT NULL DEFAULT 0,
    added_at REAL NOT NULL
) STRICT;

-- doc_id: what is fetched for it, its own URL or where that has moved for good.
-- due_at: when it is polled next; NULL while a download of it is open, or it is not to be polled.
CREATE TABLE feed (
    feed_id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES source (source_id),
    doc_id INTEGER NOT NULL REFERENCES url (doc_id),
    url TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    form TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1,
    why_disabled TEXT NOT NULL DEFAULT '',
    added_at REAL NOT NULL,
    due_at REAL,
    last_attempt_at REAL,
    last_success_at REAL,
    last_new_story_at REAL,
    last_checksum BLOB,
    last_error TEXT NOT NULL DEFAULT '',
    failures REAL NOT NULL DEFAULT 0,
    successes_in_a_row INTEGER NOT NULL DEFAULT 0,
    interval_seconds REAL,
    ttl_seconds REAL,
    UNIQUE (source_id, url)
) STRICT;

CREATE INDEX feed_due ON feed (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX feed_of ON feed (doc_id);

-- WebSub: what a hub was asked to tell us. state: 0 wanted, 1 asked, 2 subscribed, 3 refused.
CREATE TABLE push (
    feed_id INTEGER PRIMARY KEY REFERENCES feed (feed_id),
    hub TEXT NOT NULL,
    topic TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    token TEXT NOT NULL DEFAULT '',
    secret TEXT NOT NULL DEFAULT '',
    next_at REAL,
    lease_until REAL,
    asked INTEGER NOT NULL DEFAULT 0,
    pushes INTEGER NOT NULL DEFAULT 0,
    last_push_at REAL,
    detail TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX push_next ON push (next_at) WHERE next_at IS NOT NULL;
CREATE UNIQUE INDEX push_token ON push (token) WHERE token <> '';

-- doc_id: the URL of the story, as its feed names it.
-- week: ISO year and week of its publication, as year * 100 + week; title_key NULL: no title.
-- hints: what the feed said of it, as JSON; extraction falls back to it.
-- group_id: the first story, of whatever source, that says nearly the same.
CREATE TABLE story (
    story_id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES source (source_id),
    doc_id INTEGER NOT NULL REFERENCES url (doc_id),
    url TEXT NOT NULL,
    guid TEXT NOT NULL,
    title TEXT NOT NULL,
    title_key BLOB,
    week INTEGER NOT NULL,
    collected_at REAL NOT NULL,
    published REAL,
    published_how TEXT NOT NULL DEFAULT '',
    published_confidence REAL NOT NULL DEFAULT 0,
    canonical_url TEXT NOT NULL DEFAULT '',
    authors TEXT NOT NULL DEFAULT '[]',
    authors_confidence REAL NOT NULL DEFAULT 0,
    language TEXT NOT NULL DEFAULT '',
    language_confidence REAL NOT NULL DEFAULT 0,
    description TEXT NOT NULL DEFAULT '',
    image TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '[]',
    group_id INTEGER,
    hints TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE UNIQUE INDEX story_title ON story (source_id, week, title_key) WHERE title_key IS NOT NULL;
CREATE INDEX story_collected ON story (collected_at);
CREATE INDEX story_of_source ON story (source_id, collected_at);
CREATE INDEX story_of_document ON story (doc_id);
CREATE INDEX story_group ON story (group_id) WHERE group_id IS NOT NULL;

-- Every URL and guid under which a source's story is known, in full and in the lossy form, hashed.
CREATE TABLE story_key (
    source_id INTEGER NOT NULL,
    key BLOB NOT NULL,
    story_id INTEGER NOT NULL REFERENCES story (story_id),
    PRIMARY KEY (source_id, key)
) STRICT, WITHOUT ROWID;

-- In which feeds a story was seen.
CREATE TABLE feed_story (
    story_id INTEGER NOT NULL REFERENCES story (story_id),
    feed_id INTEGER NOT NULL REFERENCES feed (feed_id),
    seen_at REAL NOT NULL,
    PRIMARY KEY (story_id, feed_id)
) STRICT, WITHOUT ROWID;

-- Every download, of feeds and of stories. While it is open (state NULL), the row of its URL says
-- where it stands: pending or fetching, and from when on. type: 0 feed, 1 content.
-- state: 2 success, 3 error, 4 feed_error. hops: redirects followed on its behalf.
-- content: what is kept in the place of a body that is not; NULL when the archive has it.
CREATE TABLE download (
    download_id INTEGER PRIMARY KEY,
    type INTEGER NOT NULL,
    doc_id INTEGER NOT NULL REFERENCES url (doc_id),
    feed_id INTEGER REFERENCES feed (feed_id),
    story_id INTEGER REFERENCES story (story_id),
    url TEXT NOT NULL,
    state INTEGER,
    made_at REAL NOT NULL,
    ended_at REAL,
    fetch_id INTEGER REFERENCES fetch (fetch_id),
    retries INTEGER NOT NULL DEFAULT 0,
    hops INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    content TEXT
) STRICT;

CREATE INDEX download_open ON download (doc_id) WHERE state IS NULL;
CREATE INDEX download_of_feed ON download (feed_id, download_id) WHERE type = 0;
CREATE INDEX download_of_story ON download (story_id) WHERE story_id IS NOT NULL;

-- Extraction jobs: one for each download of a story. state: 0 queued, 1 done, 2 failed.
CREATE TABLE extraction (
    download_id INTEGER PRIMARY KEY REFERENCES download (download_id),
    story_id INTEGER NOT NULL REFERENCES story (story_id),
    state INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    queued_at REAL NOT NULL,
    ended_at REAL,
    detail TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX extraction_queue ON extraction (download_id) WHERE state = 0;

-- The text of a story, and its fingerprint in four parts: near ones share at least one of them.
CREATE TABLE article (
    story_id INTEGER PRIMARY KEY REFERENCES story (story_id),
    how TEXT NOT NULL,
    confidence REAL NOT NULL,
    fingerprint INTEGER,
    extracted_at REAL NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE article_band (
    band INTEGER NOT NULL,
    story_id INTEGER NOT NULL REFERENCES story (story_id),
    PRIMARY KEY (band, story_id)
) STRICT, WITHOUT ROWID;

CREATE VIEW download_row AS
SELECT download.download_id, download.url, download.type,
    coalesce(download.state, CASE url.state WHEN 1 THEN 1 ELSE 0 END) AS state,
    download.error, download.retries,
    CASE WHEN download.state IS NULL AND url.due_at > 0 THEN url.due_at END AS not_before,
    url.priority, host.name AS host, download.made_at, download.ended_at, download.feed_id,
    download.story_id, download.doc_id, url.url AS fetched_url, download.fetch_id,
    download.content, fetch.status, fetch.outcome
FROM download
JOIN url ON url.doc_id = download.doc_id
JOIN host ON host.host_id = url.host_id
LEFT JOIN fetch ON fetch.fetch_id = download.fetch_id;
