-- Batches of several iterations: what one finds, the next crawls.
-- iteration: the one that runs. max_items: of all iterations, NULL: no limit. seconds: how long the
-- batch may take from its first request on; until then `until` says how long it may wait. grace: so
-- long before its end no iteration begins. pauses: 1 when somebody processes what an iteration has
-- brought before the next begins. drops_rest: 1 when URLs that it has found, and did not come to,
-- are forgotten. error_mask: faults of the batch, not of a URL. state of a batch: 4 between iterations.
ALTER TABLE batch ADD COLUMN iteration INTEGER NOT NULL DEFAULT 1;
ALTER TABLE batch ADD COLUMN max_iterations INTEGER NOT NULL DEFAULT 1;
ALTER TABLE batch ADD COLUMN max_items INTEGER;
ALTER TABLE batch ADD COLUMN seconds REAL;
ALTER TABLE batch ADD COLUMN began_at REAL;
ALTER TABLE batch ADD COLUMN grace REAL NOT NULL DEFAULT 0;
ALTER TABLE batch ADD COLUMN pauses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batch ADD COLUMN drops_rest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batch ADD COLUMN error_mask INTEGER NOT NULL DEFAULT 0;

-- state of an item: 3 waits for the next iteration. wishes: properties and fields of the site that
-- count for this item alone, as JSON. made: 1 when the site has the URL only because of this batch.
ALTER TABLE batch_item ADD COLUMN iteration INTEGER NOT NULL DEFAULT 1;
ALTER TABLE batch_item ADD COLUMN wishes TEXT NOT NULL DEFAULT '';
ALTER TABLE batch_item ADD COLUMN made INTEGER NOT NULL DEFAULT 0;

CREATE INDEX batch_between ON batch (until) WHERE state = 4;

-- Incremental crawling selects with a status of its own (8).
DROP INDEX member_busy;
CREATE INDEX member_busy ON member (tcdate) WHERE status IN (2, 3, 5, 6, 8);

-- URLs of equal contents (CONTENT_HASH).
CREATE INDEX member_content ON member (set_id, content_url_md5) WHERE content_url_md5 <> '';
