-- The first schema. Times are seconds since 1970 (UTC); states and outcomes are the numbers of outcomes.py.

-- A set of URLs with settings of its own. Site 1 is everything that belongs to no other.
CREATE TABLE site (
    site_id INTEGER PRIMARY KEY,
    md5 BLOB UNIQUE,
    root_url TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL DEFAULT '',
    state INTEGER NOT NULL DEFAULT 1,
    priority INTEGER NOT NULL DEFAULT 0,
    settings TEXT NOT NULL DEFAULT '{}',
    created_at REAL NOT NULL DEFAULT 0
) STRICT;

INSERT INTO site (site_id, name) VALUES (1, 'default');

-- A host name: what is known of it, its counters, its clock, its place in the line.
-- turn: place in the line of hosts with work that is due now; NULL when it has none.
-- next_due_at: when it next gets into the line; NULL when nothing of it waits.
CREATE TABLE host (
    host_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    pending INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    excluded INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    turn INTEGER,
    next_due_at REAL,
    next_allowed_at REAL NOT NULL DEFAULT 0,
    delay_seconds REAL NOT NULL DEFAULT 0,
    address TEXT NOT NULL DEFAULT '',
    failures_in_a_row INTEGER NOT NULL DEFAULT 0,
    parked_until REAL NOT NULL DEFAULT 0,
    parked_reason TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX host_line ON host (turn) WHERE turn IS NOT NULL;
CREATE INDEX host_waiting ON host (next_due_at) WHERE next_due_at IS NOT NULL;

-- Every URL ever discovered, of whatever kind: the only table of URLs.
-- due_at: 0 for what was never tried, so that an index gives breadth first and retries after.
-- last_fetch: the latest try. last_page: the latest try that brought a document.
CREATE TABLE url (
    doc_id INTEGER PRIMARY KEY CHECK (doc_id BETWEEN 1 AND 4294967295),
    md5 BLOB NOT NULL UNIQUE,
    host_id INTEGER NOT NULL REFERENCES host (host_id),
    site_id INTEGER NOT NULL DEFAULT 1 REFERENCES site (site_id),
    kind INTEGER NOT NULL DEFAULT 0,
    state INTEGER NOT NULL DEFAULT 0,
    outcome INTEGER,
    depth INTEGER NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    parent INTEGER REFERENCES url (doc_id),
    visits INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    recrawl_seconds REAL,
    next_fetch_at REAL,
    last_fetch INTEGER REFERENCES fetch (fetch_id),
    last_page INTEGER REFERENCES fetch (fetch_id),
    duplicate_of INTEGER REFERENCES url (doc_id),
    found_at REAL NOT NULL DEFAULT 0,
    url TEXT NOT NULL,
    via TEXT,
    detail TEXT
) STRICT;

CREATE INDEX url_pending ON url (host_id, due_at, priority DESC) WHERE state = 0;
CREATE INDEX url_waiting ON url (due_at) WHERE state = 0 AND due_at > 0;
CREATE INDEX url_leased ON url (host_id) WHERE state = 1;
CREATE INDEX url_next_fetch ON url (next_fetch_at) WHERE next_fetch_at IS NOT NULL;

-- Every try that was made, never changed: the history. previous leads to the try before it.
CREATE TABLE fetch (
    fetch_id INTEGER PRIMARY KEY,
    doc_id INTEGER NOT NULL REFERENCES url (doc_id),
    previous INTEGER REFERENCES fetch (fetch_id),
    fetched_at REAL NOT NULL,
    outcome INTEGER NOT NULL,
    status INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    content_type TEXT NOT NULL DEFAULT '',
    body_bytes INTEGER NOT NULL DEFAULT 0,
    wire_bytes INTEGER NOT NULL DEFAULT 0,
    checksum BLOB,
    simhash INTEGER,
    etag TEXT,
    last_modified TEXT,
    file_id INTEGER REFERENCES file (file_id),
    offset INTEGER,
    length INTEGER,
    payload_digest BLOB,
    redirect_to TEXT,
    title TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT ''
) STRICT;

-- Archive files. end_offset: up to here everything is known to be good.
CREATE TABLE file (
    file_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    end_offset INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The first document with a body: what exact duplicates are duplicates of.
CREATE TABLE content (
    checksum BLOB PRIMARY KEY,
    doc_id INTEGER NOT NULL REFERENCES url (doc_id)
) STRICT, WITHOUT ROWID;

-- Outgoing links of a document: the first 8 bytes of the md5 of each target, one after the other.
CREATE TABLE link (
    doc_id INTEGER PRIMARY KEY REFERENCES url (doc_id),
    targets BLOB NOT NULL
) STRICT;

CREATE TABLE robots (
    authority TEXT PRIMARY KEY,
    fetched_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    status INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    body BLOB NOT NULL,
    crawl_delay REAL,
    unreachable_since REAL,
    failures INTEGER NOT NULL DEFAULT 0,
    detail TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- How many URLs of one shape a host has shown; reason: why the shape is in quarantine.
CREATE TABLE trap (
    host TEXT NOT NULL,
    pattern TEXT NOT NULL,
    urls INTEGER NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (host, pattern)
) STRICT, WITHOUT ROWID;

-- The sums over all hosts, moved by the same transactions: one row.
CREATE TABLE total (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    pending INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    excluded INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO total (one) VALUES (1);

-- How many URLs ended in each outcome when they were last tried or judged.
CREATE TABLE outcome_count (
    outcome INTEGER PRIMARY KEY,
    urls INTEGER NOT NULL
) STRICT;

-- Each start of the writer; ended_at is set by a clean stop.
CREATE TABLE run (
    run_id INTEGER PRIMARY KEY,
    began_at REAL NOT NULL,
    ended_at REAL
) STRICT;

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What handlers of the user's own made of documents, as JSON; replaced when a document is fetched anew.
CREATE TABLE record (
    record_id INTEGER PRIMARY KEY,
    doc_id INTEGER NOT NULL REFERENCES url (doc_id),
    json TEXT NOT NULL
) STRICT;

CREATE INDEX record_of ON record (doc_id);
