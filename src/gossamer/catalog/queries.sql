-- The statements of the catalog on SQLite. Each has a name and one line that says what it is for.

-- name: promote_hosts
-- Put hosts whose wait is over at the end of the line.
UPDATE host SET turn = coalesce(turn, :turn), next_due_at = NULL
WHERE next_due_at IS NOT NULL AND next_due_at <= :now;

-- name: hosts_in_line
-- Hosts with work that is due, the longest unserved first.
SELECT host_id, name FROM host WHERE turn IS NOT NULL ORDER BY turn, host_id;

-- name: fresh_urls
-- The next URLs of a host that were never tried, breadth first; none on probation.
SELECT doc_id, url, depth, kind, tries, via, last_page,
    outcome IS NULL AND visits = 0 AND last_fetch IS NULL AND duplicate_of IS NULL
FROM url
WHERE state = 0 AND host_id = :host_id AND due_at = 0 AND priority >= 0
ORDER BY priority DESC, doc_id
LIMIT :count;

-- name: retries
-- The next retries of a host.
SELECT doc_id, url, depth, kind, tries, via, last_page, 0 FROM url
WHERE state = 0 AND host_id = :host_id AND due_at > 0 AND due_at <= :now AND priority >= 0
ORDER BY due_at, priority DESC, doc_id
LIMIT :count;

-- name: urls_on_probation
-- The next URLs of a host that are on probation.
SELECT doc_id, url, depth, kind, tries, via, last_page, 0 FROM url
WHERE state = 0 AND host_id = :host_id AND due_at <= :now AND priority < 0
ORDER BY due_at, priority DESC, doc_id
LIMIT :count;

-- name: lease_urls
-- Some URLs go out.
UPDATE url SET state = 1 WHERE doc_id IN (SELECT value FROM json_each(?));

-- name: serve_host_again
-- A host that may have more to give goes to the end of the line.
UPDATE host SET pending = pending - :leased, leased = leased + :leased, turn = :turn
WHERE host_id = :host_id;

-- name: serve_host_up
-- A host that has given all that is due leaves the line until its next retry.
UPDATE host SET pending = pending - :leased, leased = leased + :leased, turn = NULL,
    next_due_at = (SELECT min(due_at) FROM url WHERE state = 0 AND url.host_id = host.host_id)
WHERE host_id = :host_id;

-- name: rest_host
-- A host with work leaves the line for a while.
UPDATE host SET turn = NULL, next_due_at = :until WHERE host_id = :host_id;

-- name: validators
-- What a conditional request needs.
SELECT etag, last_modified FROM fetch WHERE fetch_id = ?;

-- name: next_in_line
-- Whether any host stands in the line, but for some.
SELECT 1 FROM host WHERE turn IS NOT NULL AND name NOT IN (SELECT value FROM json_each(?)) LIMIT 1;

-- name: next_wait
-- When the next host gets into the line.
SELECT min(next_due_at) FROM host WHERE next_due_at IS NOT NULL;

-- name: leases_of
-- The leased ones among some documents.
SELECT doc_id, host_id FROM url
WHERE state = 1 AND doc_id IN (SELECT value FROM json_each(?));

-- name: release_url
-- A lease returns unused.
UPDATE url SET state = 0, due_at = ?, deaths = deaths + ?, delivered_at = NULL WHERE doc_id = ?;

-- name: deaths_of
-- How many workers each of some documents has killed.
SELECT doc_id, deaths FROM url
WHERE deaths > 0 AND doc_id IN (SELECT value FROM json_each(?));

-- name: release_all_urls
-- Every lease of an earlier run returns to pending.
UPDATE url INDEXED BY url_leased SET state = 0, delivered_at = NULL WHERE state = 1;

-- name: release_all_hosts
-- The counters follow, and the hosts get into the line.
UPDATE host SET pending = pending + leased, leased = 0, next_due_at = parked_until
WHERE leased > 0;

-- name: release_total
-- The totals follow.
UPDATE total SET pending = pending + leased, leased = 0;

-- name: mark_delivered
-- The results of some leased documents are on their way.
UPDATE url SET delivered_at = ?
WHERE state = 1 AND doc_id IN (SELECT value FROM json_each(?));

-- name: cut_deliveries
-- No delivery is later than now, whatever the clock was when it was stored.
UPDATE url INDEXED BY url_leased SET delivered_at = :now WHERE state = 1 AND delivered_at > :now;

-- name: release_open
-- Leases return to pending, but for those whose results are on their way and may still arrive.
UPDATE url INDEXED BY url_leased SET state = 0, delivered_at = NULL
WHERE state = 1 AND (delivered_at IS NULL OR delivered_at < :since)
RETURNING host_id;

-- name: release_undelivered
-- Leases whose results were on their way for too long return to pending.
UPDATE url INDEXED BY url_leased SET state = 0, delivered_at = NULL
WHERE state = 1 AND delivered_at < :since
RETURNING host_id;

-- name: adopt_url
-- A URL is leased to the result that came for it unordered.
UPDATE url SET state = 1, delivered_at = ? WHERE doc_id = ?;

-- name: dues_of
-- The leased ones among some documents, as they are ordered.
SELECT url.doc_id, url.url, host.name, url.depth, url.kind, url.tries, url.via, fetch.etag,
    fetch.last_modified
FROM url
JOIN host ON host.host_id = url.host_id
LEFT JOIN fetch ON fetch.fetch_id = url.last_page
WHERE url.state = 1 AND url.doc_id IN (SELECT value FROM json_each(?));

-- name: results_after
-- What became of URLs since a try.
SELECT fetch.fetch_id, fetch.doc_id, host.name, url.url, fetch.outcome, fetch.status,
    fetch.fetched_at, url.state, url.due_at
FROM fetch
JOIN url ON url.doc_id = fetch.doc_id
JOIN host ON host.host_id = url.host_id
WHERE fetch.fetch_id > ? ORDER BY fetch.fetch_id LIMIT ?;

-- name: is_document
-- Whether there is a document with this number.
SELECT 1 FROM url WHERE doc_id = ?;

-- name: cut_url_waits
-- No retry waits longer than the longest wait there is, whatever the clock was when it was stored.
UPDATE url SET due_at = :latest WHERE state = 0 AND due_at > 0 AND due_at > :latest;

-- name: cut_host_waits
-- No host waits longer than the longest wait there is.
UPDATE host SET next_due_at = :latest WHERE next_due_at IS NOT NULL AND next_due_at > :latest;

-- name: cut_host_clocks
-- No politeness clock runs longer than the longest wait there is.
UPDATE host SET next_allowed_at = min(next_allowed_at, :latest),
    parked_until = min(parked_until, :latest)
WHERE next_allowed_at > :latest OR parked_until > :latest;

-- name: shift_url_waits
-- Retries are due earlier by the clock, which was set back; 0 would mean that none was ever tried.
UPDATE url SET due_at = max(due_at - :seconds, 1.0) WHERE state = 0 AND due_at > 0;

-- name: shift_host_waits
-- Hosts get into the line earlier by the clock.
UPDATE host SET next_due_at = max(next_due_at - :seconds, 0.0) WHERE next_due_at IS NOT NULL;

-- name: shift_host_clocks
-- Politeness clocks run out earlier by the clock.
UPDATE host SET next_allowed_at = max(next_allowed_at - :seconds, 0.0),
    parked_until = max(parked_until - :seconds, 0.0)
WHERE next_allowed_at > 0 OR parked_until > 0;

-- name: last_run_moments
-- When the last run began, and ended if it did. Runs before it may have gone by any clock.
SELECT began_at, ended_at FROM run ORDER BY run_id DESC LIMIT 1;

-- name: cut_recrawls
-- No document waits longer for its next fetch than the longest interval, whatever the clock was.
UPDATE url SET next_fetch_at = :latest WHERE next_fetch_at IS NOT NULL AND next_fetch_at > :latest;

-- name: last_run
-- The run before this one.
SELECT run_id, ended_at FROM run ORDER BY run_id DESC LIMIT 1;

-- name: begin_run
-- A new run.
INSERT INTO run (began_at) VALUES (?);

-- name: end_run
-- The run ended by itself.
UPDATE run SET ended_at = ? WHERE run_id = (SELECT max(run_id) FROM run);

-- name: url_facts
-- What a commit needs to know of the documents it judges.
SELECT doc_id, host_id, state, kind, outcome, tries, visits, changes, recrawl_seconds,
    last_fetch, last_page, duplicate_of, priority, parent
FROM url WHERE doc_id IN (SELECT value FROM json_each(?));

-- name: page_facts
-- What the latest document of a URL was like, to compare a new one with.
SELECT outcome, content_type, checksum, simhash, etag, last_modified, title, redirect_to
FROM fetch WHERE fetch_id = ?;

-- name: insert_fetch
-- A try joins the history.
INSERT INTO fetch (fetch_id, doc_id, fetched_at, status, milliseconds, content_type, body_bytes,
    wire_bytes, checksum, simhash, etag, last_modified, file_id, offset, length, payload_digest,
    title, outcome, previous, redirect_to, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_first_fetch
-- The first try of a URL, which brought a page, joins the history: as above without the end.
INSERT INTO fetch (fetch_id, outcome, doc_id, fetched_at, status, milliseconds, content_type,
    body_bytes, wire_bytes, checksum, simhash, etag, last_modified, file_id, offset, length,
    payload_digest, title)
VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: judge_url
-- A document gets its new state.
UPDATE url SET state = ?, outcome = ?, due_at = ?, tries = ?, visits = ?, changes = ?,
    recrawl_seconds = ?, next_fetch_at = ?, last_fetch = ?, last_page = ?, duplicate_of = ?,
    detail = ?, delivered_at = NULL
WHERE doc_id = ?;

-- name: judge_first_pages
-- Documents are done at their first try; each stands in the list where its fetch does.
UPDATE url SET state = 2, outcome = 1, due_at = 0, tries = 1, visits = 1, changes = 0,
    recrawl_seconds = :recrawl_seconds, next_fetch_at = :next_fetch_at,
    last_fetch = :first_fetch + judged.key, last_page = :first_fetch + judged.key,
    duplicate_of = NULL, detail = NULL, delivered_at = NULL
FROM json_each(:doc_ids) AS judged WHERE url.doc_id = judged.value;

-- name: insert_content
-- The first document with a body owns it.
INSERT INTO content (checksum, doc_id) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: content_owners
-- The first document with each of some bodies; the placeholder stands for as many as there are.
SELECT checksum, doc_id FROM content WHERE checksum IN (?);

-- name: put_links
-- The outgoing links of a document.
INSERT INTO link (doc_id, targets) VALUES (?, ?)
ON CONFLICT (doc_id) DO UPDATE SET targets = excluded.targets;

-- name: in_turn_above
-- How many documents of a kind, up to a limit, lead to one another, down to this one.
WITH RECURSIVE above (parent, number) AS (
    SELECT parent, 1 FROM url WHERE doc_id = ?1 AND kind = ?2
    UNION ALL
    SELECT url.parent, number + 1 FROM above JOIN url ON url.doc_id = above.parent
    WHERE url.kind = ?2 AND number < ?3
)
SELECT count(*) FROM above;

-- name: insert_url
-- A URL becomes known.
INSERT INTO url (doc_id, md5, host_id, depth, parent, found_at, url, kind, state, outcome, priority,
    via, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_plain_url
-- A page becomes known that is to be fetched, as any other: as above without the end.
INSERT INTO url (doc_id, md5, host_id, depth, parent, found_at, url)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: known_urls
-- Which of some URLs are known; the placeholder stands for as many as there are.
SELECT md5, doc_id, host_id, state, outcome, depth, tries, priority FROM url WHERE md5 IN (?);

-- name: shorten_depth
-- A shorter way to a URL that was not visited yet.
UPDATE url SET depth = ?, parent = ? WHERE doc_id = ?;

-- name: acquit_url
-- Another page leads to a URL that was on probation.
UPDATE url SET priority = 0, parent = ? WHERE doc_id = ?;

-- name: readmit_url
-- An excluded URL gets its chance.
UPDATE url SET state = 0, outcome = NULL, due_at = 0, tries = 0, priority = max(priority, ?),
    depth = min(depth, ?), detail = NULL
WHERE doc_id = ?;

-- name: excluded_of
-- The excluded ones among some documents.
SELECT doc_id, host_id, outcome, depth FROM url
WHERE state = 3 AND doc_id IN (SELECT value FROM json_each(?));

-- name: pending_rows
-- URLs that wait.
SELECT url.doc_id, url.url, host.name, url.depth, url.kind
FROM url JOIN host ON host.host_id = url.host_id
WHERE url.doc_id > ? AND url.state = 0 ORDER BY url.doc_id LIMIT ?;

-- name: pending_of
-- The pending ones among some documents.
SELECT doc_id, host_id, outcome FROM url
WHERE state = 0 AND doc_id IN (SELECT value FROM json_each(?));

-- name: keep_out_url
-- A pending URL is not to be fetched.
UPDATE url SET state = 3, outcome = ?, due_at = 0, detail = ? WHERE doc_id = ?;

-- name: on_probation
-- Pending URLs of a host on probation, and the page on which each was found.
SELECT url.doc_id, finder.url
FROM url JOIN url AS finder ON finder.doc_id = url.parent
WHERE url.state = 0 AND url.priority < 0
    AND url.host_id = (SELECT host_id FROM host WHERE name = ?);

-- name: is_open
-- Whether a host was ever asked, or is to be.
SELECT pending + leased + done + failed > 0 OR address <> '' FROM host WHERE name = ?;

-- name: recrawls_due
-- Documents whose next fetch has come.
SELECT doc_id, host_id, state FROM url
WHERE next_fetch_at IS NOT NULL AND next_fetch_at <= ?
ORDER BY next_fetch_at, doc_id LIMIT ?;

-- name: requeue_url
-- A document is to be fetched again.
UPDATE url SET state = 0, due_at = 0, tries = 0, next_fetch_at = NULL WHERE doc_id = ?;

-- name: failed_so
-- Failed documents that were tried less often than this, by their outcome or by their last status.
SELECT doc_id, host_id FROM url
WHERE
    state = 4 AND tries < ?
    AND (
        outcome IN (SELECT value FROM json_each(?))
        OR (SELECT status FROM fetch WHERE fetch_id = last_fetch) IN (SELECT value FROM json_each(?))
    )
ORDER BY doc_id;

-- name: try_again_url
-- A failed document gets one more try.
UPDATE url SET state = 0, due_at = 0, next_fetch_at = NULL WHERE doc_id = ?;

-- name: host_id_of
-- The number of a host.
SELECT host_id FROM host WHERE name = ?;

-- name: insert_host
-- A host becomes known.
INSERT INTO host (name) VALUES (?);

-- name: count_host
-- Counters of a host move.
UPDATE host SET pending = pending + ?, leased = leased + ?, done = done + ?,
    excluded = excluded + ?, failed = failed + ?
WHERE host_id = ?;

-- name: line_up_host
-- A host with fresh work gets into the line (or waits while it is parked); retries wait their time.
UPDATE host SET
    turn = CASE WHEN turn IS NULL AND :fresh AND parked_until <= :now THEN :turn ELSE turn END,
    next_due_at = CASE
        WHEN :fresh AND parked_until > :now THEN min(coalesce(next_due_at, parked_until), parked_until)
        WHEN :wake IS NULL THEN next_due_at
        ELSE min(coalesce(next_due_at, max(:wake, parked_until)), max(:wake, parked_until))
    END
WHERE host_id = :host_id;

-- name: count_total
-- The totals move.
UPDATE total SET pending = pending + ?, leased = leased + ?, done = done + ?,
    excluded = excluded + ?, failed = failed + ?, pages = pages + ?, duplicates = duplicates + ?;

-- name: count_outcome
-- The number of URLs with an outcome moves.
INSERT INTO outcome_count (outcome, urls) VALUES (?, ?)
ON CONFLICT (outcome) DO UPDATE SET urls = urls + excluded.urls;

-- name: put_host_clock
-- What politeness remembers of a host.
UPDATE host SET next_allowed_at = :next_allowed_at, delay_seconds = :delay_seconds,
    address = :address, failures_in_a_row = :failures_in_a_row, parked_until = :parked_until,
    parked_reason = :parked_reason
WHERE host_id = :host_id;

-- name: park_host
-- A host whose parking changes leaves the line until it may be visited again.
UPDATE host SET turn = NULL, next_due_at = CASE WHEN pending > 0 THEN :parked_until END
WHERE host_id = :host_id AND parked_until <> :parked_until;

-- name: host_clocks
-- Hosts that may not be visited yet.
SELECT name, next_allowed_at, delay_seconds, address, failures_in_a_row, parked_until, parked_reason
FROM host WHERE next_allowed_at > :now OR parked_until > :now OR failures_in_a_row > 0;

-- name: host_clock
-- The clock of one host.
SELECT name, next_allowed_at, delay_seconds, address, failures_in_a_row, parked_until, parked_reason
FROM host WHERE name = ?;

-- name: file_id_of
-- The number of an archive file.
SELECT file_id FROM file WHERE name = ?;

-- name: insert_file
-- An archive file becomes known.
INSERT INTO file (name) VALUES (?);

-- name: extend_file
-- What is known to be good of an archive file grows.
UPDATE file SET end_offset = max(end_offset, ?) WHERE file_id = ?;

-- name: known_good
-- How far each archive file is known to be good.
SELECT name, end_offset FROM file;

-- name: put_trap
-- The count of a shape of URLs.
INSERT INTO trap (host, pattern, urls, reason) VALUES (?, ?, ?, ?)
ON CONFLICT (host, pattern) DO UPDATE SET urls = excluded.urls, reason = excluded.reason;

-- name: traps
-- Counts of shapes, the ones in quarantine first.
SELECT host, pattern, urls, reason FROM trap ORDER BY reason = '', urls DESC LIMIT ?;

-- name: put_robots
-- The latest robots.txt of an authority.
INSERT OR REPLACE INTO robots (authority, fetched_at, expires_at, status, outcome, body,
    crawl_delay, unreachable_since, failures, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: robots
-- The latest robots.txt of an authority.
SELECT authority, fetched_at, expires_at, status, outcome, body, crawl_delay, unreachable_since,
    failures, detail
FROM robots WHERE authority = ?;

-- name: put_note
-- A note about the whole catalog.
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: note
-- A note about the whole catalog.
SELECT value FROM meta WHERE key = ?;

-- name: totals
-- Where all URLs stand.
SELECT pending, leased, done, excluded, failed, pages, duplicates,
    (SELECT coalesce(max(host_id), 0) FROM host), (SELECT coalesce(max(fetch_id), 0) FROM fetch)
FROM total;

-- name: outcome_counts
-- How many URLs ended in each outcome.
SELECT outcome, urls FROM outcome_count WHERE urls <> 0;

-- name: host_rows
-- The hosts with the most URLs.
SELECT name, done, pending, leased, excluded, failed, next_allowed_at, delay_seconds, address,
    failures_in_a_row, parked_until, parked_reason
FROM host ORDER BY pending + leased + done + excluded + failed DESC, host_id LIMIT ?;

-- name: url_rows
-- URLs with their latest try, in the order of discovery.
SELECT url.doc_id, url.url, url.md5, host.name, url.kind, url.state, url.outcome, url.depth,
    url.priority, url.tries, url.deaths, url.found_at, url.due_at, url.next_fetch_at, url.visits,
    url.changes, url.via, url.detail, url.site_id, parent.url, original.url,
    fetch.fetch_id, fetch.fetched_at, fetch.outcome, fetch.status, fetch.milliseconds,
    fetch.content_type, fetch.body_bytes, fetch.wire_bytes, fetch.checksum, fetch.simhash,
    fetch.etag, fetch.last_modified, file.name, fetch.offset, fetch.length, fetch.payload_digest,
    fetch.redirect_to, fetch.title, fetch.detail
FROM url
JOIN host ON host.host_id = url.host_id
LEFT JOIN url AS parent ON parent.doc_id = url.parent
LEFT JOIN url AS original ON original.doc_id = url.duplicate_of
LEFT JOIN fetch ON fetch.fetch_id = url.last_fetch
LEFT JOIN file ON file.file_id = fetch.file_id
WHERE url.doc_id > :after AND url.doc_id <= :last
ORDER BY url.doc_id LIMIT :count;

-- name: fetch_row
-- One try, and the number of the try before it.
SELECT fetch.previous, fetch.fetch_id, fetch.fetched_at, fetch.outcome, fetch.status,
    fetch.milliseconds, fetch.content_type, fetch.body_bytes, fetch.wire_bytes, fetch.checksum,
    fetch.simhash, fetch.etag, fetch.last_modified, file.name, fetch.offset, fetch.length,
    fetch.payload_digest, fetch.redirect_to, fetch.title, fetch.detail
FROM fetch LEFT JOIN file ON file.file_id = fetch.file_id
WHERE fetch.fetch_id = ?;

-- name: simhashes
-- Fingerprints of documents that are no exact duplicates, in the order of discovery.
SELECT url.doc_id, fetch.simhash
FROM url JOIN fetch ON fetch.fetch_id = url.last_fetch
WHERE url.doc_id > ? AND url.state = 2 AND url.duplicate_of IS NULL AND fetch.simhash IS NOT NULL
ORDER BY url.doc_id LIMIT ?;

-- name: last_fetch_of
-- The latest try of a URL.
SELECT last_fetch FROM url WHERE doc_id = ?;

-- name: doc_id_of
-- The number of a URL.
SELECT doc_id FROM url WHERE md5 = ?;

-- name: url_of
-- The text of a URL.
SELECT url FROM url WHERE doc_id = ?;

-- name: link_rows
-- Outgoing links, in the order of discovery.
SELECT link.doc_id, url.url, link.targets FROM link JOIN url ON url.doc_id = link.doc_id
WHERE link.doc_id > ? ORDER BY link.doc_id LIMIT ?;

-- name: url_with_prefix
-- The URL whose md5 begins with these bytes.
SELECT url FROM url WHERE md5 >= ? AND md5 <= ? LIMIT 1;

-- name: find_content
-- The latest document of the URL that was the first with a body.
SELECT url.url, fetch.fetched_at, fetch.payload_digest, file.name, fetch.offset, fetch.length
FROM content
JOIN url ON url.doc_id = content.doc_id
JOIN fetch ON fetch.fetch_id = url.last_page
JOIN file ON file.file_id = fetch.file_id
WHERE content.checksum = ?;

-- name: bodies_after
-- Checksums of bodies that came since a try.
SELECT fetch_id, checksum FROM fetch WHERE fetch_id > ? ORDER BY fetch_id LIMIT ?;

-- name: insert_record
-- What a handler made of a document.
INSERT INTO record (doc_id, json) VALUES (?, ?);

-- name: delete_records
-- What handlers made of an earlier version of a document.
DELETE FROM record WHERE doc_id = ?;

-- name: records
-- What handlers made of documents, in the order in which it was kept.
SELECT record.record_id, url.url, record.json FROM record JOIN url ON url.doc_id = record.doc_id
WHERE record.record_id > ? ORDER BY record.record_id LIMIT ?;

-- name: excluded_rows
-- URLs that were kept out without a visit.
SELECT url.doc_id, url.url, host.name, url.depth, url.outcome
FROM url JOIN host ON host.host_id = url.host_id
WHERE url.doc_id > ? AND url.state = 3 ORDER BY url.doc_id LIMIT ?;

-- name: fetched_since
-- How many tries, among the latest, began after a moment.
SELECT count(*) FROM (SELECT fetched_at FROM fetch ORDER BY fetch_id DESC LIMIT :limit)
WHERE fetched_at >= :since;

-- name: first_fetched_at
-- When the first try began.
SELECT fetched_at FROM fetch ORDER BY fetch_id LIMIT 1;

-- name: last_fetched_at
-- When the latest try began.
SELECT fetched_at FROM fetch ORDER BY fetch_id DESC LIMIT 1;

-- name: pages_since
-- How many tries, among the latest, began after a moment and brought a document.
SELECT count(*) FROM (SELECT fetched_at, outcome FROM fetch ORDER BY fetch_id DESC LIMIT :limit)
WHERE fetched_at >= :since AND outcome IN (SELECT value FROM json_each(:outcomes));

-- name: highest_doc_id
-- The number of the URL discovered last.
SELECT coalesce(max(doc_id), 0) FROM url;

-- name: highest_fetch_id
-- The number of the last try.
SELECT coalesce(max(fetch_id), 0) FROM fetch;

-- name: highest_turn
-- The end of the line.
SELECT coalesce(max(turn), 0) FROM host WHERE turn IS NOT NULL;

-- name: check_hosts
-- Hosts whose counters differ from their URLs.
SELECT host.name, host.pending, host.leased, host.done, host.excluded, host.failed,
    coalesce(sum(url.state = 0), 0), coalesce(sum(url.state = 1), 0), coalesce(sum(url.state = 2), 0),
    coalesce(sum(url.state = 3), 0), coalesce(sum(url.state = 4), 0)
FROM host LEFT JOIN url ON url.host_id = host.host_id
GROUP BY host.host_id
HAVING host.pending <> coalesce(sum(url.state = 0), 0) OR host.leased <> coalesce(sum(url.state = 1), 0)
    OR host.done <> coalesce(sum(url.state = 2), 0) OR host.excluded <> coalesce(sum(url.state = 3), 0)
    OR host.failed <> coalesce(sum(url.state = 4), 0);

-- name: check_states
-- URLs in each state, counted one by one.
SELECT coalesce(sum(state = 0), 0), coalesce(sum(state = 1), 0), coalesce(sum(state = 2), 0),
    coalesce(sum(state = 3), 0), coalesce(sum(state = 4), 0),
    coalesce(sum(last_page IS NOT NULL AND kind = 0), 0), coalesce(sum(duplicate_of IS NOT NULL), 0)
FROM url;

-- name: check_deliveries
-- URLs that are marked as delivered without being leased.
SELECT doc_id FROM url WHERE delivered_at IS NOT NULL AND state <> 1 LIMIT 10;

-- name: check_line
-- Hosts with pending URLs that would never get into the line.
SELECT name FROM host WHERE pending > 0 AND turn IS NULL AND next_due_at IS NULL;

-- name: check_outcomes
-- Outcomes whose counts differ from the URLs.
SELECT outcome, sum(urls) FROM (
    SELECT outcome, count(*) AS urls FROM url WHERE outcome IS NOT NULL GROUP BY outcome
    UNION ALL SELECT outcome, -urls FROM outcome_count
) GROUP BY outcome HAVING sum(urls) <> 0;

-- name: survey_urls
-- URLs in scope, with their keys in the link graph.
SELECT doc_id, substr(md5, 1, 8), url, kind FROM url
WHERE doc_id > ? AND NOT (state = 3 AND outcome = 122) ORDER BY doc_id LIMIT ?;

-- name: survey_rows
-- Documents with all that a map of their site shows.
SELECT url.doc_id, url.state, url.outcome, coalesce(url.detail, fetch.detail, ''),
    coalesce(fetch.status, 0), coalesce(fetch.milliseconds, 0), coalesce(fetch.content_type, ''),
    coalesce(fetch.body_bytes, 0), fetch.checksum, fetch.simhash, fetch.redirect_to,
    coalesce(fetch.title, ''), coalesce(link.targets, x''), coalesce((
        SELECT json FROM record WHERE record.doc_id = url.doc_id ORDER BY record_id DESC LIMIT 1
    ), '')
FROM json_each(?) AS wanted
JOIN url ON url.doc_id = wanted.value
LEFT JOIN fetch ON fetch.fetch_id = url.last_fetch
LEFT JOIN link ON link.doc_id = url.doc_id;

-- name: count_kept_out
-- URLs that are kept out for one reason.
SELECT count(*) FROM url WHERE state = 3 AND outcome = ? AND coalesce(detail, '') = ?;
