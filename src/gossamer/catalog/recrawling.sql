-- The statements of re-crawling and aging. Each has a name and a description.

-- name: due_sites
-- Active sites whose date of re-crawl has passed, the oldest first.
SELECT id FROM service_site AS s
WHERE state = 1 AND recrawl_phase = 0 AND recrawl_period > 0 AND recrawl_date <= :now
    AND coalesce((SELECT CAST(nullif(trim(value), '') AS INTEGER) & 8 FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'MODES_FLAG' AND url_md5 = ''), 8)
ORDER BY recrawl_date, site_id LIMIT :limit;

-- name: count_due
-- How many sites wait for their re-crawl.
SELECT count(*) FROM service_site WHERE state = 1 AND recrawl_phase = 0 AND recrawl_period > 0
    AND recrawl_date <= ?;

-- name: sites_at_work
-- Sites that are being re-crawled and whose wait is over.
SELECT id, recrawl_phase FROM service_site
WHERE recrawl_phase > 0 AND recrawl_lock_until <= ? ORDER BY recrawl_lock_until, site_id;

-- name: count_at_work
-- How many sites are being re-crawled.
SELECT count(*) FROM service_site WHERE recrawl_phase > 0;

-- name: begin_site
-- The re-crawl of a site begins: it is locked, and the next date is set.
UPDATE service_site SET recrawl_phase = 1, recrawl_lock_until = :until,
    iterations = iterations + 1, recrawl_period = :period, recrawl_date = :next
WHERE site_id = :site_id AND recrawl_phase = 0;

-- name: go_on
-- The re-crawl of a site goes on.
UPDATE service_site SET recrawl_phase = :phase, recrawl_lock_until = :until
WHERE site_id = :site_id AND recrawl_phase = :before;

-- name: has_work_left
-- Whether a site has new URLs, or some that wait for processing.
SELECT EXISTS (SELECT 1 FROM member WHERE set_id = :set_id AND status = 1)
    OR EXISTS (SELECT 1 FROM member AS m INDEXED BY member_processable
        WHERE m.set_id = :set_id AND m.status = 4 AND m.state = 0 AND m.crawled > 0 AND m.size > 0
            AND m.error_mask & 4198399 = 0 AND m.content_type IN ('text/html', 'text/json')
            AND m.http_code = 200 AND m.parent_md5 <> '' AND m.type <> 6);

-- name: renew_members
-- URLs become new, unless they are about to be crawled; an error of last time is no reason against.
UPDATE member SET status = 1, state = CASE state WHEN 2 THEN 0 ELSE state END, batch_id = 0
WHERE set_id = :set_id AND status NOT IN (1, 2, 3, 8)
    AND doc_id IN (SELECT value FROM json_each(:doc_ids))
RETURNING doc_id;

-- name: probably_changed
-- URLs that have been left alone for longer than they had been unchanged when they were fetched.
SELECT m.set_id, m.doc_id FROM service_site AS s JOIN member AS m ON m.set_id = s.set_id
WHERE s.state = 1 AND s.recrawl_lock_until IS NULL
    AND EXISTS (SELECT 1 FROM service_property AS p WHERE p.site_id = s.site_id
        AND name = 'INCREMENTAL_CRAWLING' AND url_md5 = '' AND value NOT IN ('', '0'))
    AND coalesce((SELECT CAST(nullif(trim(value), '') AS INTEGER) & 1 FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'MODES_FLAG' AND url_md5 = ''), 1)
    AND m.status IN (4, 7) AND m.state = 0 AND m.depth <= :depth
    AND :now - m.tcdate > m.tcdate - m.last_modified
ORDER BY m.depth, m.mrate DESC, m.tcdate LIMIT :limit;

-- name: aging_sites
-- Sites whose URLs grow old, in the order of their numbers.
SELECT site_id, id, recrawl_period FROM service_site AS s
WHERE site_id > :after AND state IN (1, 3)
    AND (recrawl_period > 0 OR EXISTS (SELECT 1 FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'AGING_URL_CRITERION' AND url_md5 = ''
            AND value <> ''))
    AND coalesce((SELECT CAST(nullif(trim(value), '') AS INTEGER) & 16 FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'MODES_FLAG' AND url_md5 = ''), 16)
ORDER BY site_id LIMIT :limit;
