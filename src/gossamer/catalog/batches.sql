-- The statements of batches: what the engine of the service writes. Each has a name and a description.

-- name: insert_batch
-- A batch is accepted.
INSERT INTO batch (kind, items, made_at, until, seconds, max_iterations, max_items, grace, pauses,
    drops_rest, error_mask)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_item
-- A URL is part of a batch.
INSERT INTO batch_item (batch_id, set_id, doc_id, at, state, iteration, wishes, made)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: plan_of
-- Where a batch is in its iterations.
SELECT kind, iteration, max_iterations, max_items, until, grace, pauses, drops_rest FROM batch
WHERE batch_id = ? AND state IN (0, 4);

-- name: waiting_items
-- What the next iteration of a batch may crawl, in the order of regular crawling.
SELECT batch_item.set_id, batch_item.doc_id, batch_item.wishes FROM batch_item
JOIN member USING (set_id, doc_id)
WHERE batch_item.batch_id = ? AND batch_item.state = 3 AND member.status = 1 AND member.state = 0
    AND member.type <> 4
ORDER BY member.priority DESC, member.depth, member.udate DESC, batch_item.doc_id;

-- name: is_waiting
-- Whether something waits for the next iteration of a batch.
SELECT 1 FROM batch_item WHERE batch_id = ? AND state = 3 LIMIT 1;

-- name: count_items
-- How many items a batch has, without those that wait.
SELECT count(*) FROM batch_item WHERE batch_id = ? AND state <> 3;

-- name: begin_waiting_item
-- An item that waited is part of the iteration that begins.
UPDATE batch_item SET state = 0, iteration = ? WHERE batch_id = ? AND set_id = ? AND doc_id = ?;

-- name: forget_waiting
-- What no iteration comes to is no part of its batch.
DELETE FROM batch_item WHERE batch_id = ? AND state = 3;

-- name: begin_iteration
-- The next iteration of a batch begins.
UPDATE batch SET state = 0, iteration = iteration + 1, items = items + ?
WHERE batch_id = ? AND state IN (0, 4);

-- name: pause_batch
-- An iteration is over, and what it has brought is processed.
UPDATE batch SET state = 4 WHERE batch_id = ? AND state = 0;

-- name: fault_batch
-- Something went wrong with a batch as a whole.
UPDATE batch SET error_mask = error_mask | ? WHERE batch_id = ?;

-- name: batch_mask
-- What went wrong with a batch as a whole.
SELECT error_mask FROM batch WHERE batch_id = ?;

-- name: begin_batch
-- The first request of a batch goes out: from now on its time counts.
UPDATE batch SET began_at = ?1, until = ?1 + seconds
WHERE batch_id = ?2 AND began_at IS NULL AND seconds IS NOT NULL;

-- name: unmade_items
-- URLs that a site has only because of a batch, which did not finish them.
SELECT set_id, doc_id FROM batch_item JOIN member USING (set_id, doc_id)
WHERE batch_item.batch_id = ? AND batch_item.state IN (0, 3) AND made = 1
    AND member.status IN (1, 2, 3, 8);

-- name: site_facts
-- What crawling needs to know of a site, by its set of URLs.
SELECT site_id, id, set_id, state, max_errors, errors, max_resources, resources, max_urls,
    max_urls_from_page, max_resource_size, url_type, request_delay, http_timeout, recrawl_period
FROM service_site WHERE set_id = ?;

-- name: site_by_id
-- The set of URLs of a site.
SELECT set_id FROM service_site WHERE id = ?;

-- name: properties
-- The properties of a site.
SELECT name, value FROM service_property WHERE site_id = ? AND url_md5 = '';

-- name: filters
-- The filters of a site that are switched on.
SELECT pattern, subject, operation_code, stage, action, type, mode FROM service_filter
WHERE site_id = ? AND state = 1;

-- name: suspend_site
-- A site has reached a limit (S3.50).
UPDATE service_site SET error_mask = error_mask | ?, errors = errors + 1, tcdate = ?, state = 3
WHERE site_id = ?;

-- name: member_of
-- What a URL is to a site.
SELECT status, state, request_delay, http_timeout, depth, priority, max_urls_from_page, udate,
    mrate, mrate_counter, total_time, type
FROM member WHERE set_id = ? AND doc_id = ?;

-- name: select_member
-- A member is selected for crawling, and its faults of earlier runs are forgotten (S3.47).
UPDATE member SET status = ?, batch_id = ?, error_mask = 0, tcdate = ?
WHERE set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: join_batch
-- A member whose content is there already is part of a batch.
UPDATE member SET batch_id = ? WHERE set_id = ? AND doc_id = ?;

-- name: release_member
-- A member that was selected is as it was.
UPDATE member SET status = 1, batch_id = 0
WHERE set_id = ? AND doc_id = ? AND status IN (2, 3, 8);

-- name: crawling_member
-- A request for a member goes out (S3.54).
UPDATE member SET status = 3, crawled = crawled + 1, tcdate = ?, batch_id = ?
WHERE set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: crawling_again
-- A request goes out for a member that has started again since the last one.
UPDATE member SET status = 3, crawled = crawled + 1, tcdate = ?, batch_id = ?
WHERE set_id = ? AND doc_id IN (SELECT value FROM json_each(?)) AND status <> 3;

-- name: open_items
-- Which members some documents are fetched for.
SELECT batch_id, set_id, doc_id, at, hops, page_hops, began_at, iteration, wishes FROM batch_item
WHERE state = 0 AND at IN (SELECT value FROM json_each(?));

-- name: begin_item
-- A request for an item goes out for the first time.
UPDATE batch_item SET began_at = coalesce(began_at, ?)
WHERE batch_id = ? AND set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: move_item
-- An item goes on where a redirect leads.
UPDATE batch_item SET at = ?, hops = hops + ?, page_hops = page_hops + ?
WHERE batch_id = ? AND set_id = ? AND doc_id = ?;

-- name: end_item
-- An item is over.
UPDATE batch_item SET state = ?
WHERE batch_id = ? AND set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: crawled_member
-- A member was crawled (S3.60).
UPDATE member SET status = :status, state = :state, content_type = :content_type,
    charset = :charset, error_mask = :mask, crawling_time = :time, total_time = total_time + :time,
    udate = :now, http_code = :code, size = :size, raw_content_md5 = :raw_md5, links_i = :inside,
    links_e = :outside, last_modified = :last_modified, etag = :etag, content_mask = :content_mask,
    mrate = (mrate * mrate_counter + :changed) / (mrate_counter + 1),
    mrate_counter = mrate_counter + 1
WHERE set_id = :set_id AND doc_id = :doc_id;

-- name: keep_content
-- What the last fetch of a document brought is a content of the URL from where redirects led to it.
INSERT INTO site_content (site_id, doc_id, fetch_id)
SELECT ?1, ?2, last_fetch FROM url WHERE doc_id = ?3 AND last_fetch IS NOT NULL
ON CONFLICT DO NOTHING;

-- name: known_members
-- Which documents a site knows already.
SELECT doc_id, status, udate FROM member
WHERE set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: insert_member
-- A site learns of a URL (S3.68).
INSERT INTO member (set_id, doc_id, type, status, priority, depth, request_delay, http_timeout,
    parent_md5, cdate, udate, freq)
VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING;

-- name: is_batch_open
-- Whether a batch has work left. Those that came last are asked for last: they tell it at once.
SELECT 1 FROM batch_item WHERE batch_id = ? AND state = 0 ORDER BY set_id DESC, doc_id DESC LIMIT 1;

-- name: end_batch
-- A batch is over.
UPDATE batch SET state = ?, ended_at = ?, detail = ? WHERE batch_id = ? AND state IN (0, 4);

-- name: batch_state
-- Where a batch stands.
SELECT state FROM batch WHERE batch_id = ?;

-- name: overdue_batches
-- Batches whose time is over.
SELECT batch_id FROM batch WHERE state = 0 AND until <= ?1
UNION ALL SELECT batch_id FROM batch WHERE state = 4 AND until <= ?1;

-- name: open_items_of
-- The items of a batch that are not over.
SELECT set_id, doc_id, at FROM batch_item WHERE batch_id = ? AND state = 0;

-- name: orphaned_items
-- Items that are not over, and whose sites were emptied or deleted.
SELECT batch_id, set_id, doc_id, at FROM batch_item
WHERE state = 0 AND NOT EXISTS
    (SELECT 1 FROM service_site WHERE service_site.set_id = batch_item.set_id);

-- name: items_of
-- The items of a batch, with what became of them.
SELECT service_site.id, lower(hex(url.md5)), url.url, batch_item.state, member.status,
    member.error_mask, member.size, batch_item.iteration, member.depth, batch_item.wishes
FROM batch_item
JOIN url ON url.doc_id = batch_item.doc_id
JOIN service_site ON service_site.set_id = batch_item.set_id
LEFT JOIN member ON member.set_id = batch_item.set_id AND member.doc_id = batch_item.doc_id
WHERE batch_item.batch_id = ? AND batch_item.state <> 3
ORDER BY batch_item.iteration, batch_item.doc_id;

-- name: forget_items
-- The items of batches that are about to be forgotten go before them.
DELETE FROM batch_item WHERE batch_id IN (SELECT batch_id FROM batch WHERE ended_at < ?);

-- name: forget_batches
-- Batches that ended long ago are forgotten.
DELETE FROM batch WHERE ended_at < ?;

-- name: url_states
-- Where URLs stand.
SELECT doc_id, host_id, state, outcome FROM url WHERE doc_id IN (SELECT value FROM json_each(?));

-- name: want_url
-- A URL that was settled is fetched again.
UPDATE url SET state = 0, due_at = 0, tries = 0, next_fetch_at = NULL, kind = ?
WHERE doc_id IN (SELECT value FROM json_each(?));

-- name: want_excluded_url
-- A URL that was known only, or kept out, is fetched.
UPDATE url SET state = 0, outcome = NULL, detail = NULL, due_at = 0, tries = 0,
    next_fetch_at = NULL, kind = ?
WHERE doc_id IN (SELECT value FROM json_each(?));

-- name: unwant_url
-- A URL that was to be fetched is known only, unless some batch still wants it.
UPDATE url SET state = 3, due_at = 0 WHERE doc_id = ?1 AND state = 0
    AND NOT EXISTS (SELECT 1 FROM batch_item WHERE at = ?1 AND batch_item.state = 0)
RETURNING host_id;

-- name: sites_with_new
-- Active sites that take part in crawling and have new URLs, in their order.
SELECT set_id FROM service_site
WHERE state = 1 AND recrawl_lock_until IS NULL
    AND coalesce((SELECT CAST(nullif(trim(value), '') AS INTEGER) & 1 FROM service_property
        WHERE service_property.site_id = service_site.site_id AND name = 'MODES_FLAG'
            AND url_md5 = ''), 1)
    AND EXISTS (SELECT 1 FROM member INDEXED BY member_turn
        WHERE member.set_id = service_site.set_id AND status = 1 AND state = 0 AND type <> 4)
ORDER BY priority DESC, tcdate, site_id LIMIT ?;

-- name: new_roots
-- Root URLs of a site that are new.
SELECT doc_id FROM member
WHERE set_id = ? AND status = 1 AND parent_md5 = '' AND state = 0 AND type <> 4
ORDER BY priority DESC, depth, udate DESC LIMIT ?;

-- name: new_members
-- URLs of a site that are new and no roots, the most wanted first.
SELECT doc_id FROM member
WHERE set_id = ? AND status = 1 AND state = 0 AND parent_md5 <> '' AND type <> 4
ORDER BY priority DESC, depth, udate DESC LIMIT ?;

-- name: touch_site
-- A site has had its turn.
UPDATE service_site SET tcdate = ? WHERE set_id = ?;

-- name: batch_averages
-- How long the latest batches of a kind took, and how many URLs they had.
SELECT coalesce(avg(ended_at - made_at), 0.0), coalesce(avg(items), 0.0) FROM (
    SELECT made_at, ended_at, items FROM batch WHERE kind = ? AND ended_at IS NOT NULL
    ORDER BY batch_id DESC LIMIT 1000
);

-- name: open_batches
-- How many batches of a kind are open.
SELECT count(*) FROM batch WHERE state = 0 AND kind = ?;

-- name: stuck_members
-- Members that somebody selected long ago and never finished; a client need not say when it did.
SELECT set_id, doc_id FROM member
WHERE status >= 2 AND status <= 8 AND status <> 4 AND status <> 7 AND tcdate < ?1
UNION ALL
SELECT set_id, doc_id FROM member
WHERE status >= 2 AND status <= 8 AND status <> 4 AND status <> 7 AND tcdate IS NULL
    AND coalesce(udate, cdate, 0) < ?1
LIMIT ?2;

-- name: return_member
-- A member is new again.
UPDATE member SET status = CASE WHEN status IN (5, 6) THEN 4 ELSE 1 END, batch_id = 0
WHERE set_id = ? AND doc_id = ? AND status IN (2, 3, 5, 6, 8)
    AND NOT EXISTS (SELECT 1 FROM batch_item JOIN batch USING (batch_id)
        WHERE batch.state = 0 AND batch_item.state = 0 AND batch_item.set_id = member.set_id
            AND batch_item.doc_id = member.doc_id)
RETURNING status;

-- name: members_changed
-- Sites have lost URLs, or want others than before.
INSERT INTO meta (key, value) VALUES ('members_version', hex(randomblob(8)))
ON CONFLICT (key) DO UPDATE SET value = excluded.value
RETURNING value;

-- name: members_version
-- Another value after each such change.
SELECT value FROM meta WHERE key = 'members_version';
