-- The statements of the crawling service. Lists of document numbers are JSON arrays. {columns}
-- stands for the columns of a member, but for its set.

-- name: site_by_id
-- The number of a site, the set of URLs that it has now, and whether it keeps counters and a log.
SELECT site_id, set_id,
    EXISTS (SELECT 1 FROM service_property p WHERE p.site_id = s.site_id AND p.url_md5 = ''
        AND p.name = 'STATS_FREQ_ENABLED' AND p.value NOT IN ('', '0')),
    EXISTS (SELECT 1 FROM service_property p WHERE p.site_id = s.site_id AND p.url_md5 = ''
        AND p.name = 'STATS_LOG_ENABLED' AND p.value NOT IN ('', '0')),
    url_type, request_delay, processing_delay, http_timeout, recrawl_period, id
FROM service_site s WHERE id = ?;

-- name: every_site_id
-- The ids of all sites.
SELECT id FROM service_site ORDER BY site_id;

-- name: next_site_id
-- A number that no site has, and none that is still being deleted.
SELECT 1 + max(
    (SELECT coalesce(max(site_id), 0) FROM service_site),
    (SELECT coalesce(max(site_id), 0) FROM url_set),
    (SELECT coalesce(max(site_id), 0) FROM tombstone));

-- name: insert_set
-- A site gets a set of URLs.
INSERT INTO url_set (site_id, state, made_at) VALUES (?, ?, ?);

-- name: insert_root
-- A root URL of a site, unless it has it.
INSERT OR IGNORE INTO service_root (site_id, url, user_id, fields, cdate) VALUES (?, ?, ?, ?, ?);

-- name: change_root
-- What is known of a root URL changes.
UPDATE service_root SET user_id = ?, fields = ? WHERE site_id = ? AND url = ?;

-- name: roots_of
-- The root URLs of a site, in the order in which they came.
SELECT url, user_id, fields FROM service_root WHERE site_id = ? ORDER BY cdate, url;

-- name: insert_filter
-- A filter of a site.
INSERT INTO service_filter (site_id, pattern, subject, operation_code, stage, action, type, mode,
    state, group_id, udate, cdate)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: change_filter
-- Filters of one pattern and stage change.
UPDATE service_filter SET subject = ?, operation_code = ?, action = ?, type = ?, mode = ?,
    state = ?, group_id = ?, udate = ?
WHERE site_id = ? AND pattern = ? AND stage = ?;

-- name: filters_of
-- The filters of a site.
SELECT pattern, subject, operation_code, stage, action, type, mode, state, group_id, udate, cdate
FROM service_filter WHERE site_id = ? ORDER BY filter_id;

-- name: put_property
-- A property of a site, new or with another value.
INSERT INTO service_property (site_id, name, url_md5, value, udate, cdate)
VALUES (:site_id, :name, :url_md5, :value, :udate, :cdate)
ON CONFLICT (site_id, name, url_md5) DO UPDATE SET value = :value, udate = :now;

-- name: change_property
-- A property that the site has gets another value.
UPDATE service_property SET value = :value, udate = :now
WHERE site_id = :site_id AND name = :name AND url_md5 = :url_md5;

-- name: properties_of
-- The properties of a site.
SELECT name, url_md5, value, udate, cdate FROM service_property
WHERE site_id = ? ORDER BY name, url_md5;

-- name: property_of
-- One property of a site.
SELECT value FROM service_property WHERE site_id = ? AND name = ? AND url_md5 = '';

-- name: forget_roots
-- A site loses its root URLs.
DELETE FROM service_root WHERE site_id = ?;

-- name: forget_filters
-- A site loses its filters.
DELETE FROM service_filter WHERE site_id = ?;

-- name: forget_properties
-- A site loses its properties.
DELETE FROM service_property WHERE site_id = ?;

-- name: forget_attributes
-- A site loses its attributes and those of its URLs.
DELETE FROM attribute WHERE site_id = ?;

-- name: forget_proxies
-- A site loses its proxies.
DELETE FROM proxy WHERE site_id = ?;

-- name: forget_frequencies
-- A site loses the counters of its URLs.
DELETE FROM url_frequency WHERE site_id = ?;

-- name: forget_log
-- A site loses the history of its URLs.
DELETE FROM url_log WHERE site_id = ?;

-- name: forget_site
-- A site is no more.
DELETE FROM service_site WHERE site_id = ?;

-- name: restart_site
-- A site begins anew.
UPDATE service_site SET state = 1, udate = ?, iterations = iterations + 1, error_mask = 0,
    errors = 0
WHERE site_id = ?;

-- name: clean_site
-- A site whose URLs were given up.
UPDATE service_site SET set_id = :set_id, tcdate = :now, resources = 0, contents = 0,
    collected_urls = 0, new_urls = 0, size = 0, avg_speed = 0, avg_speed_counter = 0,
    iterations = 0, state = :state, error_mask = 0, errors = 0
WHERE site_id = :site_id;

-- name: sites_by_prefix
-- Sites that have a root URL that begins so.
SELECT DISTINCT site_id FROM service_root WHERE url >= :first AND url < :after;

-- name: put_tombstone
-- A site is deleted; its contents are still there.
INSERT OR REPLACE INTO tombstone (id, site_id, state, made_at) VALUES (?, ?, ?, ?);

-- name: tombstone_of
-- What is left of a deleted site.
SELECT site_id, state FROM tombstone WHERE id = ?;

-- name: open_tombstones
-- Deleted sites whose contents are still to be removed.
SELECT id, site_id FROM tombstone WHERE state = 5 ORDER BY made_at LIMIT ?;

-- name: close_tombstone
-- Nothing is left of a deleted site.
UPDATE tombstone SET state = 4 WHERE id = ? AND site_id = ?;

-- name: drop_tombstone
-- A deleted site is forgotten.
DELETE FROM tombstone WHERE id = ? AND site_id = ?;

-- name: orphaned_members
-- Some members of the sets of a site that was deleted.
SELECT m.set_id, m.doc_id FROM url_set u JOIN member m ON m.set_id = u.set_id
WHERE u.site_id = ? LIMIT ?;

-- name: forget_members
-- Some URLs leave a set.
DELETE FROM member WHERE set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: forget_sets
-- A site that was deleted loses its sets of URLs.
DELETE FROM url_set WHERE site_id = ?;

-- name: deleted_set
-- The set that URLs of a site are moved to when they are deleted.
SELECT min(set_id) FROM url_set WHERE site_id = ? AND state = ?;

-- name: deleted_sets
-- Sets of URLs that a site had.
SELECT set_id, state FROM url_set WHERE site_id = ? AND state > 0 ORDER BY set_id;

-- name: mark_set
-- A set of URLs is given up.
UPDATE url_set SET state = ? WHERE set_id = ?;

-- name: drop_empty_set
-- A set of deleted URLs is used up.
DELETE FROM url_set WHERE set_id = :set_id AND state > 0
    AND NOT EXISTS (SELECT 1 FROM member WHERE set_id = :set_id);

-- name: move_members
-- Some URLs go from one set to another.
UPDATE OR REPLACE member SET set_id = :target, batch_id = 0
WHERE set_id = :source AND doc_id IN (SELECT value FROM json_each(:doc_ids));

-- name: copy_members
-- Some URLs are entered in another set, too.
INSERT OR REPLACE INTO member (set_id, {columns}) SELECT :target, {columns} FROM member
WHERE set_id = :source AND doc_id IN (SELECT value FROM json_each(:doc_ids));

-- name: save_roots
-- The root URLs of one set are entered in another.
INSERT INTO member (set_id, {columns}) SELECT :target, {columns} FROM member
WHERE set_id = :source AND parent_md5 = '';

-- name: renew_roots
-- The URLs of a set start again. When they were last touched stays: contents are told apart by it.
UPDATE member SET state = 0, status = 1, batch_id = 0, error_mask = 0, http_code = 0, size = 0,
    content_mask = 0, processed = 0, tags_mask = 0, tags_count = 0, raw_content_md5 = '',
    content_url_md5 = ''
WHERE set_id = ?;

-- name: drop_saved
-- Root URLs that were saved leave the set that was given up.
DELETE FROM member WHERE set_id = :given_up
    AND doc_id IN (SELECT doc_id FROM member WHERE set_id = :set_id AND parent_md5 = '')
    AND parent_md5 = '';

-- name: document_by_md5
-- The number of a URL.
SELECT doc_id FROM url WHERE md5 = ?;

-- name: restart_roots
-- Root URLs of a site that begins anew are as new, unless they are about to be crawled.
UPDATE member SET status = 1, state = 0, error_mask = 0, batch_id = 0
WHERE set_id = :set_id AND status NOT IN (2, 3, 8)
    AND doc_id IN (SELECT value FROM json_each(:doc_ids))
RETURNING doc_id;

-- name: root_members
-- The root URLs among the members of a set.
SELECT doc_id FROM member WHERE set_id = ? AND parent_md5 = '';

-- name: members_among
-- Which documents are members of a set.
SELECT doc_id FROM member WHERE set_id = ? AND doc_id IN (SELECT value FROM json_each(?));

-- name: insert_member
-- A URL becomes a member of a set.
INSERT INTO member (set_id, {columns}) VALUES (?, ?, {values});

-- name: insert_members
-- URLs become members of a set, with the same values all of them.
INSERT INTO member (set_id, {columns}) SELECT ?, value, {values} FROM json_each(?);

-- name: md5s_of
-- The names of documents.
SELECT doc_id, lower(hex(md5)) FROM url WHERE doc_id IN (SELECT value FROM json_each(?));

-- name: names_of
-- Documents with their md5 and text.
SELECT doc_id, lower(hex(md5)), url FROM url WHERE doc_id IN (SELECT value FROM json_each(?));

-- name: clean_member
-- The content of a URL is gone.
UPDATE member SET state = coalesce(:state, state), status = coalesce(:status, status),
    udate = :udate, content_mask = 0, size = 0, raw_content_md5 = '', processed = 0,
    tags_mask = 0, tags_count = 0
WHERE set_id = :set_id AND doc_id = :doc_id;

-- name: purgeable
-- Members of a deleted set, and whether what is stored for them belongs to what lives again.
SELECT m.doc_id, lower(hex(u.md5)), l.doc_id IS NOT NULL AND l.tcdate IS NOT m.tcdate
FROM member m JOIN url u ON u.doc_id = m.doc_id
LEFT JOIN member l ON l.set_id = :live AND l.doc_id = m.doc_id
WHERE m.set_id = :set_id AND m.doc_id IN (SELECT value FROM json_each(:doc_ids));

-- name: has_contents
-- Whether URLs may have contents since another set was given up: selected for crawling, or put.
SELECT 1 FROM member m WHERE set_id = :set_id AND (status <> 1 OR content_mask <> 0 OR EXISTS (
    SELECT 1 FROM member g
    WHERE g.set_id = :given_up AND g.doc_id = m.doc_id AND g.tcdate IS NOT m.tcdate))
LIMIT 1;

-- name: left_among
-- Which documents have left contents in a site that are still to be removed.
SELECT m.doc_id FROM service_site s JOIN url_set t ON t.site_id = s.site_id
JOIN member m ON m.set_id = t.set_id
WHERE s.id = ? AND t.state = 1 AND m.doc_id IN (SELECT value FROM json_each(?));

-- name: forget_url_attributes
-- URLs of a site lose their attributes.
DELETE FROM attribute WHERE site_id = ? AND url_md5 IN (SELECT value FROM json_each(?));

-- name: insert_attribute
-- An attribute, unless it is there.
INSERT OR IGNORE INTO attribute (site_id, url_md5, name, value, cdate) VALUES (?, ?, ?, ?, ?);

-- name: change_attribute
-- An attribute gets another value.
UPDATE attribute SET value = :value, cdate = :cdate
WHERE site_id = :site_id AND url_md5 = :url_md5 AND name = :name;

-- name: attributes_of_url
-- The attributes of a URL.
SELECT name, url_md5, value, cdate FROM attribute WHERE site_id = ? AND url_md5 = ? ORDER BY name;

-- name: insert_proxy
-- A proxy of a site, unless it is there.
INSERT OR IGNORE INTO proxy (site_id, host, fields, priority, state, faults, faults_max, cdate,
    udate)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: change_proxy
-- What is known of a proxy changes.
UPDATE proxy SET fields = ?, priority = ?, state = ?, faults = ?, faults_max = ?, udate = ?
WHERE proxy_id = ?;

-- name: delete_proxy
-- A proxy is forgotten.
DELETE FROM proxy WHERE proxy_id = ?;

-- name: count_frequency
-- Something happened to a URL, counted in {column}.
INSERT INTO url_frequency (site_id, url_md5, {column}, cdate, mdate)
VALUES (:site_id, :url_md5, 1, :now, :now)
ON CONFLICT (site_id, url_md5) DO UPDATE SET {column} = {column} + 1, mdate = :now;

-- name: insert_log
-- Something happened to a URL.
INSERT INTO url_log (site_id, url_md5, operation, object, cdate) VALUES (?, ?, ?, ?, ?);

-- name: sums
-- What the members of a set add to the counters of their site; {which} narrows them.
SELECT
    coalesce(sum(status >= 4 AND crawled > 0 AND size > 0 AND error_mask & 4198399 = 0
        AND content_type IN ('text/html', 'application/xhtml+xml')), 0),
    coalesce(sum(status = 7 AND tags_count > 0 AND processed > 0), 0),
    coalesce(sum(parent_md5 <> '' AND crawled > 0), 0),
    coalesce(sum(status = 1), 0),
    coalesce(sum(error_mask <> 0), 0),
    coalesce(sum(size), 0),
    coalesce(total(CASE WHEN size > 0 AND crawling_time > 0 THEN size * 1000.0 / crawling_time END),
        0),
    coalesce(sum(size > 0 AND crawling_time > 0), 0)
FROM member WHERE set_id = :set_id {which};

-- name: masks
-- The error masks of members of a set; {which} narrows them.
SELECT DISTINCT error_mask FROM member WHERE set_id = :set_id AND error_mask <> 0 {which};

-- name: count_deleted
-- How many deleted URLs of a site are still on record.
SELECT count(*) FROM url_set u JOIN member m ON m.set_id = u.set_id
WHERE u.site_id = ? AND u.state > 0;

-- name: counters
-- The counters of a site.
SELECT resources, contents, collected_urls, new_urls, errors, size, avg_speed, avg_speed_counter,
    error_mask
FROM service_site WHERE site_id = ?;

-- name: move_counters
-- The counters of a site change.
UPDATE service_site SET resources = max(0, resources + :resources),
    contents = max(0, contents + :contents),
    collected_urls = max(0, collected_urls + :collected_urls),
    new_urls = max(0, new_urls + :new_urls),
    errors = max(0, errors + :errors),
    size = max(0, size + :size),
    avg_speed = :avg_speed,
    avg_speed_counter = :avg_speed_counter,
    error_mask = error_mask | :error_mask
WHERE site_id = :site_id;

-- name: move_deleted
-- The number of deleted URLs of a site changes.
UPDATE service_site SET deleted_urls = max(0, deleted_urls + ?) WHERE site_id = ?;

-- name: set_counters
-- The counters of a site, counted anew.
UPDATE service_site SET resources = :resources, contents = :contents,
    collected_urls = :collected_urls, new_urls = :new_urls, errors = :errors, size = :size,
    avg_speed = :avg_speed, avg_speed_counter = :avg_speed_counter, error_mask = :error_mask,
    deleted_urls = :deleted_urls
WHERE site_id = :site_id;

-- name: every_site
-- All sites with the sets of URLs that they have now, and the counters that follow from them.
SELECT site_id, id, set_id, resources, contents, collected_urls, new_urls, size, deleted_urls
FROM service_site ORDER BY site_id;
