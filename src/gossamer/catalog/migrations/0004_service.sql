-- The crawling service: sites that programs hand over, what each URL is to them, batches of work.
-- What is fetched stays in the table of URLs: a member says what one of them is to a site.

-- A site of the service. id: 32 hexadecimal digits, or 0. set_id: the URLs that it has now; a site
-- that is cleaned up gets another set, so that any number of URLs is given up at once.
-- Times are seconds since 1970; delays and time-outs are milliseconds, re-crawl periods minutes.
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
) STRICT;

CREATE INDEX service_site_turn ON service_site (state, priority DESC, tcdate);
CREATE INDEX service_site_recrawl ON service_site (recrawl_date) WHERE recrawl_date IS NOT NULL;

INSERT INTO service_site (site_id, id, set_id, cdate, description) VALUES (0, '0', 1, 0, 'general');

-- The root URLs of sites (sites_urls), their filters and their properties.
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

-- A set of URLs of a site. state: 0 the site has it now; 1 deleted, contents are kept until the purge;
-- 2 deleted, contents are gone. A site has one set in state 0, and at most one in each other state
-- to which single URLs are moved (those of a cleanup are sets of their own).
CREATE TABLE url_set (
    set_id INTEGER PRIMARY KEY,
    site_id INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    made_at REAL NOT NULL
) STRICT;

CREATE INDEX url_set_of ON url_set (site_id, state);

INSERT INTO url_set (set_id, site_id, made_at) VALUES (1, 0, 0);

-- What a URL is to a site. parent_md5 empty: a root URL. batch_id 0: in no batch.
-- here: 1 when it was fetched by this host, 0 when it is only known to have been fetched elsewhere.
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
CREATE INDEX member_busy ON member (tcdate) WHERE status IN (2, 3, 5, 6);

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

-- Per-URL counters and history (dc_stat_freqs, dc_stat_logs), for sites that ask for them.
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

-- Sites that are deleted while their contents are still to be removed (C10). state: 5, then 4.
CREATE TABLE tombstone (
    id TEXT PRIMARY KEY,
    site_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    made_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Work that was handed out. kind: as Batch.crawlerType. state: 0 open, 1 finished, 2 failed.
CREATE TABLE batch (
    batch_id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    items INTEGER NOT NULL,
    made_at REAL NOT NULL,
    until REAL NOT NULL,
    ended_at REAL,
    detail TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX batch_open ON batch (until) WHERE state = 0;

-- at: the document that is fetched for it: the URL itself, or where redirects led.
-- state: 0 open, 1 crawled, 2 left out.
CREATE TABLE batch_item (
    batch_id INTEGER NOT NULL REFERENCES batch (batch_id),
    set_id INTEGER NOT NULL,
    doc_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    hops INTEGER NOT NULL DEFAULT 0,
    page_hops INTEGER NOT NULL DEFAULT 0,
    began_at REAL,
    PRIMARY KEY (batch_id, set_id, doc_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX batch_item_open ON batch_item (at) WHERE state = 0;
