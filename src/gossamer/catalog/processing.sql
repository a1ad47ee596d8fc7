-- The statements of processing. Each has a name and a description.

-- name: sites_to_process
-- Active sites that take part in processing and have URLs that wait for it, the longest waiting first.
SELECT id, tcdate_process FROM service_site AS s
WHERE state = 1
    AND coalesce((SELECT CAST(nullif(trim(value), '') AS INTEGER) & 2 FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'MODES_FLAG' AND url_md5 = ''), 2)
    AND NOT EXISTS (SELECT 1 FROM service_property AS p
        WHERE p.site_id = s.site_id AND name IN ('PROCESS_WHERE_URLS', 'PROCESS_WHERE_SITES')
            AND url_md5 = '' AND value <> '')
    AND EXISTS (SELECT 1 FROM member AS m INDEXED BY member_processable
        WHERE m.set_id = s.set_id AND m.status = 4 AND m.state = 0 AND m.crawled > 0 AND m.size > 0
            AND m.error_mask & 4198399 = 0 AND m.content_type IN ('text/html', 'text/json')
            AND m.http_code = 200 AND m.parent_md5 <> '' AND m.type <> 6)
ORDER BY tcdate_process, site_id LIMIT ?;

-- name: sites_of_their_own
-- Sites that say themselves what is to be processed, the longest waiting first.
SELECT s.id, s.site_id, s.state, s.tcdate_process,
    coalesce((SELECT value FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'PROCESS_WHERE_URLS' AND url_md5 = ''), ''),
    coalesce((SELECT value FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'PROCESS_WHERE_SITES' AND url_md5 = ''), ''),
    coalesce((SELECT CAST(nullif(trim(value), '') AS INTEGER) & 2 FROM service_property AS p
        WHERE p.site_id = s.site_id AND name = 'MODES_FLAG' AND url_md5 = ''), 2)
FROM service_site AS s
WHERE site_id IN (SELECT site_id FROM service_property
    WHERE name IN ('PROCESS_WHERE_URLS', 'PROCESS_WHERE_SITES') AND url_md5 = '' AND value <> '')
ORDER BY tcdate_process, site_id LIMIT ?;

-- name: begin_member
-- Processing of a URL begins (S3.102).
UPDATE member SET status = 6, processed = processed + 1, tcdate = :now
WHERE set_id = :set_id AND doc_id = :doc_id AND status BETWEEN 4 AND 7;

-- name: release_member
-- A URL that was selected is not processed now.
UPDATE member SET status = 4 WHERE set_id = ? AND doc_id = ? AND status IN (5, 6);

-- name: refuse_member
-- A URL cannot be processed (S3.101): it is as it was crawled, with an error.
UPDATE member SET status = 4, state = 2, error_mask = error_mask | :mask, udate = :now, tcdate = :now
WHERE set_id = :set_id AND doc_id = :doc_id AND status BETWEEN 4 AND 7;

-- name: processed_member
-- A URL was processed (S3.106); masks are combined by OR (C15).
UPDATE member SET status = 7, state = CASE WHEN :mask THEN 2 ELSE state END,
    error_mask = error_mask | :mask, processing_time = :time, total_time = total_time + :time,
    udate = :now, tcdate = :now, tags_mask = :tags_mask, tags_count = :tags_count,
    pdate = coalesce(:pdate, pdate), content_url_md5 = :content_url_md5
WHERE set_id = :set_id AND doc_id = :doc_id AND status = 6;

-- name: item_of
-- The item of a batch that a URL was crawled for, while the batch is not over.
SELECT i.batch_id, i.set_id, i.doc_id, i.at, i.hops, i.page_hops, i.began_at, i.iteration, i.wishes
FROM member AS m
JOIN batch_item AS i ON i.batch_id = m.batch_id AND i.set_id = m.set_id AND i.doc_id = m.doc_id
JOIN batch AS b ON b.batch_id = i.batch_id
WHERE m.set_id = ? AND m.doc_id = ? AND b.state IN (0, 4);

-- name: twin_of
-- Another URL of a site with the same content (CONTENT_HASH).
SELECT 1 FROM member INDEXED BY member_content
WHERE set_id = ? AND content_url_md5 = ? AND content_url_md5 <> '' AND status = 7 AND doc_id <> ?
LIMIT 1;
