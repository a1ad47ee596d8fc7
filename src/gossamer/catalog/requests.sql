-- How requests of the service are made, and what becomes of those that are not. Each has a name and a description.

-- name: facts_for_requests
-- What decides how members are asked for: the identity of each, what is known of it, what it is.
SELECT member.doc_id, url.md5, parent_md5 = '', http_method, content_mask <> 0 AND size > 0, etag,
    last_modified, raw_content_md5, size, cdate, udate, status, member.state, request_delay,
    http_timeout, member.depth, member.priority, max_urls_from_page, udate, mrate, mrate_counter,
    total_time, type
FROM member JOIN url ON url.doc_id = member.doc_id
WHERE set_id = ? AND member.doc_id IN (SELECT value FROM json_each(?));

-- name: host_of_document
-- The host of a URL.
SELECT host.name FROM url JOIN host USING (host_id) WHERE url.doc_id = ?;

-- name: proxies_of_site
-- Proxies that were made with PROXY_NEW, and whether each can be used.
SELECT proxy_id, host, fields, priority, state = 1 AND (faults_max = 0 OR faults < faults_max)
FROM proxy WHERE site_id = ?;

-- name: blame_proxy
-- A proxy has failed.
UPDATE proxy SET faults = faults + 1, udate = ? WHERE proxy_id = ?;

-- name: hold_member
-- A member is not asked for after all.
UPDATE member SET status = :status, state = :state, error_mask = error_mask | :mask,
    batch_id = CASE WHEN :status = 1 THEN 0 ELSE batch_id END,
    udate = CASE WHEN :status = 1 THEN udate ELSE :now END
WHERE set_id = :set_id AND doc_id = :doc_id;

-- name: unlease_url
-- A URL that was leased is known only, until a batch wants it.
UPDATE url SET state = 3, due_at = 0, delivered_at = NULL WHERE doc_id = ? AND state = 1
RETURNING host_id;

-- name: members_before
-- What members were like before a visit, and what they hand down to the URLs that are found on them.
SELECT member.doc_id, size, content_type, charset, raw_content_md5, links_i, links_e, last_modified,
    etag, http_code, processed > 0, content_mask <> 0 AND size > 0, udate, parent_md5 = '',
    http_method, url.url, lower(hex(url.md5)), type, member.depth, member.priority,
    classifier_mask, request_delay, processing_delay, http_timeout, max_urls_from_page
FROM member JOIN url ON url.doc_id = member.doc_id
WHERE set_id = ? AND member.doc_id IN (SELECT value FROM json_each(?));
