-- The statements of propagation: which host has which URL. Each has a name and a description.

-- name: row
-- What a URL is to a site, and who has it.
SELECT member.status, member.crawled, member.parent_md5 = '', member.udate, url_hold.firm,
    shared_batch.maker, shared_batch.number, shared_batch.state,
    EXISTS (SELECT 1 FROM batch WHERE batch.batch_id = member.batch_id AND state IN (0, 4))
FROM member LEFT JOIN url_hold USING (set_id, doc_id) LEFT JOIN shared_batch USING (shared_id)
WHERE set_id = ? AND doc_id = ?;

-- name: hold
-- A batch has a URL from now on.
INSERT INTO url_hold (set_id, doc_id, shared_id, firm) VALUES (?, ?, ?, ?)
ON CONFLICT (set_id, doc_id) DO UPDATE SET shared_id = excluded.shared_id, firm = excluded.firm;

-- name: let_go
-- Nobody has a URL any more.
DELETE FROM url_hold WHERE set_id = ? AND doc_id = ?;

-- name: let_all_go
-- A batch has nothing any more.
DELETE FROM url_hold WHERE shared_id = ?;

-- name: make_firm
-- What a batch still has when its host has come to its own place, it keeps.
UPDATE url_hold SET firm = 1 WHERE shared_id = ?;

-- name: held_member
-- A URL is selected by a batch.
UPDATE member SET status = 2, batch_id = ?, tcdate = ? WHERE set_id = ? AND doc_id = ?;

-- name: crawled_member
-- A URL is known to be crawled elsewhere.
UPDATE member SET status = 4, batch_id = 0, udate = ? WHERE set_id = ? AND doc_id = ?;

-- name: new_member
-- A URL is to be crawled.
UPDATE member SET status = 1, batch_id = 0 WHERE set_id = ? AND doc_id = ?;

-- name: selected_of
-- What a batch has, as far as it is selected and nothing more.
SELECT set_id, doc_id FROM url_hold JOIN member USING (set_id, doc_id)
WHERE shared_id = ? AND member.status = 2;

-- name: items_of
-- What a batch has, as other hosts are told.
SELECT set_id, member.doc_id, url_hold.firm, member.status,
    EXISTS (SELECT 1 FROM batch_item WHERE batch_item.batch_id = shared_batch.batch_id
        AND batch_item.set_id = url_hold.set_id AND batch_item.doc_id = url_hold.doc_id
        AND batch_item.state = 1),
    service_site.id, url.url, lower(hex(url.md5)), member.type, member.request_delay,
    member.processing_delay, member.http_timeout, member.crawled, member.depth, member.priority,
    member.parent_md5, member.max_urls_from_page, member.http_method
FROM url_hold JOIN shared_batch USING (shared_id) JOIN member USING (set_id, doc_id)
JOIN url ON url.doc_id = member.doc_id JOIN service_site USING (set_id)
WHERE shared_id = ? ORDER BY set_id, member.doc_id;

-- name: batch_by_name
-- A batch by its name.
SELECT shared_id, state FROM shared_batch WHERE maker = ? AND number = ?;

-- name: last_number
-- The highest number of a batch of this host.
SELECT coalesce(max(number), 0) FROM shared_batch WHERE maker = ?;

-- name: insert_batch
-- A batch becomes known.
INSERT INTO shared_batch (maker, number, state, made_at, until) VALUES (?, ?, ?, ?, ?);

-- name: set_state
-- A batch goes on to its next state.
UPDATE shared_batch SET state = ?, until = ? WHERE shared_id = ?;

-- name: crawled_here
-- A batch is crawled here.
UPDATE shared_batch SET state = 2, batch_id = ? WHERE shared_id = ?;

-- name: handed_over
-- A batch is crawled by another host.
UPDATE shared_batch SET state = 1, executor = ?, until = ? WHERE shared_id = ?;

-- name: acknowledged
-- Another host has said that it has a batch.
UPDATE shared_batch SET acknowledged = 1 WHERE shared_id = ?;

-- name: at_work
-- Batches of this host in a state.
SELECT shared_id, maker, number, executor FROM shared_batch
WHERE state = ? AND acknowledged = 0 ORDER BY shared_id;

-- name: count_held
-- How many batches are held.
SELECT count(*) FROM shared_batch WHERE state = 0;

-- name: ended
-- Batches that were crawled here and are over.
SELECT shared_id, maker, number FROM shared_batch LEFT JOIN batch USING (batch_id)
WHERE shared_batch.state = 2 AND (batch.state IS NULL OR batch.state IN (1, 2))
ORDER BY shared_id LIMIT ?;

-- name: overdue
-- Batches that were held or handed over for too long.
SELECT shared_id, maker, number FROM shared_batch WHERE state IN (0, 1) AND until <= ?;

-- name: forgettable
-- Batches of which nobody will speak any more.
SELECT shared_id FROM shared_batch WHERE state IN (3, 4) AND until <= ? LIMIT ?;

-- name: forget
-- A batch is forgotten.
DELETE FROM shared_batch WHERE shared_id = ?;

-- name: insert_news
-- A host is to be told something.
INSERT INTO host_news (host, body, made_at) VALUES (?, ?, ?);

-- name: next_news
-- What a host is to be told next.
SELECT news_id, body FROM host_news WHERE host = ? ORDER BY news_id LIMIT 1;

-- name: told
-- A host was told.
DELETE FROM host_news WHERE news_id = ?;

-- name: forget_news
-- What nobody could be told for so long is given up.
DELETE FROM host_news WHERE made_at < ?;

-- name: count_news
-- How much other hosts are still to be told.
SELECT count(*) FROM host_news;

-- name: site_of_set
-- The site that has a set of URLs now.
SELECT id FROM service_site WHERE set_id = ?;
