-- Several data hosts crawl together: each URL is fetched by one of them, and known to all.

-- Batches that hosts have told each other of. maker and number: who made it, and its number there,
-- which is its name on all hosts. state: 0 held here while other hosts are asked; 1 handed over to
-- the executor; 2 crawled here, as the batch batch_id; 3 another host has it; 4 over, and kept until
-- nobody can speak of it any more. acknowledged: 1 when the executor has said that it has it.
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

-- Which of them has a member. It counts only while the member is selected or being crawled.
-- firm: 0 while a host that is asked earlier than this one may still give it to somebody else.
CREATE TABLE url_hold (
    set_id INTEGER NOT NULL,
    doc_id INTEGER NOT NULL,
    shared_id INTEGER NOT NULL,
    firm INTEGER NOT NULL,
    PRIMARY KEY (set_id, doc_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX url_hold_of ON url_hold (shared_id);

-- What other hosts are still to be told, oldest first.
CREATE TABLE host_news (
    news_id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    body TEXT NOT NULL,
    made_at REAL NOT NULL
) STRICT;

CREATE INDEX host_news_of ON host_news (host, news_id);
