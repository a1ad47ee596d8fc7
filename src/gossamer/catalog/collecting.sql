-- The statements of collecting: what becomes of URLs found on pages.

-- name: sites_of_host
-- Sites that have a root URL on a host, by the first and the last URL that there may be.
SELECT DISTINCT service_site.set_id
FROM service_root JOIN service_site ON service_site.site_id = service_root.site_id
WHERE service_root.url >= ? AND service_root.url < ? ORDER BY service_site.site_id LIMIT 100;

-- name: set_of_site
-- The set of URLs of a site.
SELECT set_id FROM service_site WHERE id = ?;

-- name: is_being_deleted
-- Whether contents of a deleted site are still to be removed.
SELECT 1 FROM tombstone WHERE id = ? AND state = 5;

-- name: known_members
-- Which documents a site knows already.
SELECT doc_id FROM member WHERE set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: note_fault
-- Something about a URL that is no reason not to use it.
UPDATE member SET error_mask = error_mask | ? WHERE set_id = ? AND doc_id = ?;

-- name: renewable
-- Known URLs that were found again and whose time has come; {condition} says when that is.
SELECT m.doc_id FROM member m JOIN url u ON u.doc_id = m.doc_id
WHERE m.set_id = ? AND m.doc_id IN (SELECT value FROM json_each(?)) AND m.status IN (4, 7)
    AND {condition};

-- name: renew
-- Known URLs that were found again change; {changes} says how.
UPDATE member AS m SET {changes}
WHERE m.set_id = ? AND m.doc_id IN (SELECT value FROM json_each(?));

-- name: limit_of_site
-- How many URLs a site may have; 0: any number.
SELECT max_urls FROM service_site WHERE site_id = ?;

-- name: count_members
-- How many URLs a site has, counted as far as the limit; those that other hosts crawled are theirs.
SELECT count(*) FROM (SELECT 1 FROM member
    WHERE set_id = ? AND NOT (status = 4 AND crawled = 0 AND type <> 4) LIMIT ?);

-- name: open_members
-- The members of a site that belong to a batch which is not over.
SELECT DISTINCT batch_item.doc_id
FROM batch JOIN batch_item ON batch_item.batch_id = batch.batch_id
WHERE batch.ended_at IS NULL AND batch_item.set_id = ?;
