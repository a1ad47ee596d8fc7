-- All migrations together, for catalogs that are new. Made by scripts/catalog_schema.py.

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
, delivered_at REAL) STRICT;

CREATE INDEX url_pending ON url (host_id, due_at, priority DESC) WHERE state = 0;

CREATE INDEX url_waiting ON url (due_at) WHERE state = 0 AND due_at > 0;

CREATE INDEX url_leased ON url (host_id) WHERE state = 1;

CREATE INDEX url_next_fetch ON url (next_fetch_at) WHERE next_fetch_at IS NOT NULL;

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

CREATE TABLE file (
    file_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    end_offset INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE content (
    checksum BLOB PRIMARY KEY,
    doc_id INTEGER NOT NULL REFERENCES url (doc_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE trap (
    host TEXT NOT NULL,
    pattern TEXT NOT NULL,
    urls INTEGER NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (host, pattern)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE outcome_count (
    outcome INTEGER PRIMARY KEY,
    urls INTEGER NOT NULL
) STRICT;

CREATE TABLE run (
    run_id INTEGER PRIMARY KEY,
    began_at REAL NOT NULL,
    ended_at REAL
) STRICT;

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE record (
    record_id INTEGER PRIMARY KEY,
    doc_id INTEGER NOT NULL REFERENCES url (doc_id),
    json TEXT NOT NULL
) STRICT;

CREATE INDEX record_of ON record (doc_id);

CREATE TABLE source (
    source_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    home TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1,
    tags TEXT NOT NULL DEFAULT '',
    content_delay_seconds REAL NOT NULL DEFAULT 0,
    added_at REAL NOT NULL
) STRICT;

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

CREATE TABLE story_key (
    source_id INTEGER NOT NULL,
    key BLOB NOT NULL,
    story_id INTEGER NOT NULL REFERENCES story (story_id),
    PRIMARY KEY (source_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE feed_story (
    story_id INTEGER NOT NULL REFERENCES story (story_id),
    feed_id INTEGER NOT NULL REFERENCES feed (feed_id),
    seen_at REAL NOT NULL,
    PRIMARY KEY (story_id, feed_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE service_site (
    site_id INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    set_id INTEGER NOT NULL,
    cdate REAL NOT NULL,
    udate REAL,
    tcdate REAL,
    tcdate_process REAL,
    resources INTEGER NOT NULL DEFAULT 0,
    contents INTEGER NOT NULL DEFAULT 0,
    collected_urls INTEGER NOT NULL DEFAULT 0,
    new_urls INTEGER NOT NULL DEFAULT 0,
    deleted_urls INTEGER NOT NULL DEFAULT 0,
    iterations INTEGER NOT NULL DEFAULT 0,
    state INTEGER NOT NULL DEFAULT 1,
    priority INTEGER NOT NULL DEFAULT 100,
    max_urls INTEGER NOT NULL DEFAULT 0,
    max_resources INTEGER NOT NULL DEFAULT 0,
    max_errors INTEGER NOT NULL DEFAULT 0,
    max_resource_size INTEGER NOT NULL DEFAULT 0,
    max_urls_from_page INTEGER NOT NULL DEFAULT 0,
    request_delay REAL NOT NULL DEFAULT 500,
    processing_delay REAL NOT NULL DEFAULT 500,
    http_timeout REAL NOT NULL DEFAULT 30000,
    error_mask INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    avg_speed REAL NOT NULL DEFAULT 0,
    avg_speed_counter INTEGER NOT NULL DEFAULT 0,
    url_type INTEGER NOT NULL DEFAULT 0,
    description TEXT NOT NULL DEFAULT '',
    user_id INTEGER NOT NULL DEFAULT 0,
    category_id INTEGER NOT NULL DEFAULT 0,
    recrawl_period REAL NOT NULL DEFAULT 0,
    recrawl_date REAL,
    recrawl_lock_until REAL,
    fetch_type INTEGER NOT NULL DEFAULT 1,
    move_urls INTEGER NOT NULL DEFAULT 1
, recrawl_phase INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX service_site_turn ON service_site (state, priority DESC, tcdate);

CREATE INDEX service_site_recrawl ON service_site (recrawl_date) WHERE recrawl_date IS NOT NULL;

CREATE TABLE service_root (
    site_id INTEGER NOT NULL REFERENCES service_site (site_id),
    url TEXT NOT NULL,
    user_id INTEGER NOT NULL DEFAULT 0,
    fields TEXT NOT NULL DEFAULT '{}',
    cdate REAL NOT NULL,
    PRIMARY KEY (site_id, url)
) STRICT, WITHOUT ROWID;

CREATE INDEX service_root_url ON service_root (url);

CREATE TABLE service_filter (
    filter_id INTEGER PRIMARY KEY,
    site_id INTEGER NOT NULL REFERENCES service_site (site_id),
    pattern TEXT NOT NULL,
    subject TEXT NOT NULL DEFAULT '',
    operation_code INTEGER NOT NULL DEFAULT 0,
    stage INTEGER NOT NULL DEFAULT 0,
    action INTEGER NOT NULL DEFAULT 1,
    type INTEGER NOT NULL DEFAULT 1,
    mode INTEGER NOT NULL DEFAULT 0,
    state INTEGER NOT NULL DEFAULT 1,
    group_id INTEGER NOT NULL DEFAULT 0,
    udate REAL,
    cdate REAL NOT NULL
) STRICT;

CREATE INDEX service_filter_of ON service_filter (site_id);

CREATE TABLE service_property (
    site_id INTEGER NOT NULL REFERENCES service_site (site_id),
    name TEXT NOT NULL,
    url_md5 TEXT NOT NULL DEFAULT '',
    value TEXT NOT NULL,
    udate REAL,
    cdate REAL NOT NULL,
    PRIMARY KEY (site_id, name, url_md5)
) STRICT, WITHOUT ROWID;

CREATE TABLE url_set (
    set_id INTEGER PRIMARY KEY,
    site_id INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    made_at REAL NOT NULL
) STRICT;

CREATE INDEX url_set_of ON url_set (site_id, state);

CREATE TABLE member (
    set_id INTEGER NOT NULL,
    doc_id INTEGER NOT NULL,
    type INTEGER NOT NULL DEFAULT 0,
    state INTEGER NOT NULL DEFAULT 0,
    status INTEGER NOT NULL DEFAULT 1,
    crawled INTEGER NOT NULL DEFAULT 0,
    processed INTEGER NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL DEFAULT 0,
    depth INTEGER NOT NULL DEFAULT 0,
    batch_id INTEGER NOT NULL DEFAULT 0,
    error_mask INTEGER NOT NULL DEFAULT 0,
    http_code INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    tags_mask INTEGER NOT NULL DEFAULT 0,
    tags_count INTEGER NOT NULL DEFAULT 0,
    links_i INTEGER NOT NULL DEFAULT 0,
    links_e INTEGER NOT NULL DEFAULT 0,
    freq INTEGER NOT NULL DEFAULT 0,
    max_urls_from_page INTEGER NOT NULL DEFAULT 100,
    classifier_mask INTEGER NOT NULL DEFAULT 0,
    content_mask INTEGER NOT NULL DEFAULT 0,
    request_delay REAL NOT NULL DEFAULT 500,
    processing_delay REAL NOT NULL DEFAULT 500,
    http_timeout REAL NOT NULL DEFAULT 30000,
    crawling_time REAL NOT NULL DEFAULT 0,
    processing_time REAL NOT NULL DEFAULT 0,
    total_time REAL NOT NULL DEFAULT 0,
    mrate REAL NOT NULL DEFAULT 0,
    mrate_counter INTEGER NOT NULL DEFAULT 0,
    cdate REAL NOT NULL DEFAULT 0,
    udate REAL,
    tcdate REAL,
    pdate REAL,
    last_modified REAL,
    etag TEXT NOT NULL DEFAULT '',
    content_type TEXT NOT NULL DEFAULT '',
    charset TEXT NOT NULL DEFAULT '',
    http_method TEXT NOT NULL DEFAULT 'get',
    raw_content_md5 TEXT NOT NULL DEFAULT '',
    parent_md5 TEXT NOT NULL DEFAULT '',
    content_url_md5 TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (set_id, doc_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX member_turn ON member (set_id, status, state, priority DESC, depth, udate DESC);

CREATE INDEX member_root ON member (set_id, status) WHERE parent_md5 = '';

CREATE INDEX member_of ON member (doc_id);

CREATE TABLE attribute (
    site_id INTEGER NOT NULL REFERENCES service_site (site_id),
    url_md5 TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    cdate REAL NOT NULL,
    PRIMARY KEY (site_id, url_md5, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE proxy (
    proxy_id INTEGER PRIMARY KEY,
    site_id INTEGER NOT NULL,
    host TEXT NOT NULL,
    fields TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 0,
    state INTEGER NOT NULL DEFAULT 1,
    faults INTEGER NOT NULL DEFAULT 0,
    faults_max INTEGER NOT NULL DEFAULT 0,
    cdate REAL NOT NULL,
    udate REAL,
    UNIQUE (site_id, host)
) STRICT;

CREATE TABLE url_frequency (
    site_id INTEGER NOT NULL,
    url_md5 TEXT NOT NULL,
    inserted INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    updated INTEGER NOT NULL DEFAULT 0,
    made_new INTEGER NOT NULL DEFAULT 0,
    crawled INTEGER NOT NULL DEFAULT 0,
    processed INTEGER NOT NULL DEFAULT 0,
    aged INTEGER NOT NULL DEFAULT 0,
    delayed INTEGER NOT NULL DEFAULT 0,
    purged INTEGER NOT NULL DEFAULT 0,
    cdate REAL NOT NULL,
    mdate REAL NOT NULL,
    PRIMARY KEY (site_id, url_md5)
) STRICT, WITHOUT ROWID;

CREATE TABLE url_log (
    log_id INTEGER PRIMARY KEY,
    site_id INTEGER NOT NULL,
    url_md5 TEXT NOT NULL,
    operation INTEGER NOT NULL,
    object TEXT NOT NULL DEFAULT '',
    cdate REAL NOT NULL
) STRICT;

CREATE INDEX url_log_of ON url_log (site_id, url_md5);

CREATE TABLE tombstone (
    id TEXT PRIMARY KEY,
    site_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    made_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE batch (
    batch_id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    items INTEGER NOT NULL,
    made_at REAL NOT NULL,
    until REAL NOT NULL,
    ended_at REAL,
    detail TEXT NOT NULL DEFAULT ''
, iteration INTEGER NOT NULL DEFAULT 1, max_iterations INTEGER NOT NULL DEFAULT 1, max_items INTEGER, seconds REAL, began_at REAL, grace REAL NOT NULL DEFAULT 0, pauses INTEGER NOT NULL DEFAULT 0, drops_rest INTEGER NOT NULL DEFAULT 0, error_mask INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX batch_open ON batch (until) WHERE state = 0;

CREATE TABLE batch_item (
    batch_id INTEGER NOT NULL REFERENCES batch (batch_id),
    set_id INTEGER NOT NULL,
    doc_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    hops INTEGER NOT NULL DEFAULT 0,
    page_hops INTEGER NOT NULL DEFAULT 0,
    began_at REAL, iteration INTEGER NOT NULL DEFAULT 1, wishes TEXT NOT NULL DEFAULT '', made INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (batch_id, set_id, doc_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX batch_item_open ON batch_item (at) WHERE state = 0;

CREATE INDEX service_site_recrawling ON service_site (recrawl_lock_until) WHERE recrawl_phase > 0;

CREATE INDEX member_processable ON member (set_id)
WHERE status = 4 AND state = 0 AND crawled > 0 AND size > 0 AND error_mask & 4198399 = 0
    AND content_type IN ('text/html', 'text/json') AND http_code = 200 AND parent_md5 <> ''
    AND type <> 6;

CREATE TABLE shared_batch (
    shared_id INTEGER PRIMARY KEY,
    maker TEXT NOT NULL,
    number INTEGER NOT NULL,
    state INTEGER NOT NULL,
    batch_id INTEGER,
    executor TEXT NOT NULL DEFAULT '',
    acknowledged INTEGER NOT NULL DEFAULT 0,
    made_at REAL NOT NULL,
    until REAL NOT NULL,
    UNIQUE (maker, number)
) STRICT;

CREATE INDEX shared_batch_at_work ON shared_batch (state, until) WHERE state < 3;

CREATE TABLE url_hold (
    set_id INTEGER NOT NULL,
    doc_id INTEGER NOT NULL,
    shared_id INTEGER NOT NULL,
    firm INTEGER NOT NULL,
    PRIMARY KEY (set_id, doc_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX url_hold_of ON url_hold (shared_id);

CREATE TABLE host_news (
    news_id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    body TEXT NOT NULL,
    made_at REAL NOT NULL
) STRICT;

CREATE INDEX host_news_of ON host_news (host, news_id);

CREATE INDEX batch_between ON batch (until) WHERE state = 4;

CREATE INDEX member_content ON member (set_id, content_url_md5) WHERE content_url_md5 <> '';

CREATE INDEX download_of_fetch ON download (fetch_id) WHERE fetch_id IS NOT NULL;

CREATE INDEX member_busy ON member (tcdate)
WHERE status >= 2 AND status <= 8 AND status <> 4 AND status <> 7;

CREATE INDEX service_site_set ON service_site (set_id);

CREATE INDEX batch_ended ON batch (ended_at);

CREATE TABLE site_content (
    site_id INTEGER NOT NULL,
    doc_id INTEGER NOT NULL,
    fetch_id INTEGER NOT NULL REFERENCES fetch (fetch_id),
    PRIMARY KEY (site_id, doc_id, fetch_id)
) STRICT, WITHOUT ROWID;

INSERT INTO site VALUES (1, NULL, '', 'default', 1, 0, '{}', 0.0);

INSERT INTO total VALUES (1, 0, 0, 0, 0, 0, 0, 0);

INSERT INTO service_site VALUES (0, '0', 1, 0.0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 1, 100, 0, 0, 0, 0, 0, 500.0, 500.0, 30000.0, 0, 0, 0, 0.0, 0, 0, 'general', 0, 0, 0.0, NULL, NULL, 1, 1, 0);

INSERT INTO url_set VALUES (1, 0, 0, 0.0);
