-- The statements of news: what the engine writes. Each has a name and one line that says what it is for.

-- name: feeds_due
-- Feeds whose next poll has come, the longest waiting first.
SELECT feed.feed_id, feed.url, feed.due_at, url.doc_id, url.host_id, url.state, url.outcome,
    url.last_page, url.kind, url.tries
FROM feed JOIN url ON url.doc_id = feed.doc_id
WHERE feed.due_at IS NOT NULL AND feed.due_at <= ? ORDER BY feed.due_at LIMIT ?;

-- name: cut_feed_waits
-- No feed waits longer than the longest delay: its plan was made by a clock that was ahead.
UPDATE feed SET due_at = 0 WHERE due_at IS NOT NULL AND due_at > ?;

-- name: next_feed_due
-- When the next feed is due.
SELECT min(due_at) FROM feed WHERE due_at IS NOT NULL;

-- name: feed_attempted
-- A download of a feed is made.
UPDATE feed SET due_at = NULL, last_attempt_at = ? WHERE feed_id = ?;

-- name: insert_download
-- A URL is wanted.
INSERT INTO download (type, doc_id, feed_id, story_id, url, made_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: want_url
-- A URL that was settled is fetched again, as what it is wanted for now.
UPDATE url SET state = 0, due_at = ?, tries = 0, next_fetch_at = NULL, kind = ? WHERE doc_id = ?;

-- name: want_excluded_url
-- A URL that was kept out is judged again.
UPDATE url SET state = 0, outcome = NULL, detail = NULL, due_at = ?, tries = 0,
    next_fetch_at = NULL, kind = ?
WHERE doc_id = ?;

-- name: want_as
-- A URL that waits is fetched as something else.
UPDATE url SET kind = ? WHERE doc_id = ?;

-- name: delay_url
-- A URL is not fetched before a moment.
UPDATE url SET due_at = ? WHERE doc_id = ?;

-- name: open_downloads
-- What some documents are wanted for.
SELECT download_id, type, doc_id, feed_id, story_id, retries, hops FROM download
WHERE state IS NULL AND doc_id IN (SELECT value FROM json_each(?));

-- name: latest_fetch
-- The latest try of a URL and the latest that brought a document.
SELECT last_fetch, last_page FROM url WHERE doc_id = ?;

-- name: retry_download
-- A download is tried again.
UPDATE download SET retries = retries + ?, error = ? WHERE download_id = ?;

-- name: count_interrupted
-- Downloads that were being made when a run ended are tried again, which counts.
UPDATE download SET retries = retries + 1, error = ?
WHERE state IS NULL AND doc_id IN (SELECT doc_id FROM url INDEXED BY url_leased WHERE state = 1);

-- name: end_download
-- A download is over.
UPDATE download SET state = ?, ended_at = ?, fetch_id = ?, error = ?, content = ?
WHERE download_id = ?;

-- name: move_download
-- A download goes on where a redirect leads.
UPDATE download SET doc_id = ?, hops = hops + 1 WHERE download_id = ?;

-- name: url_by_md5
-- A URL by its identity.
SELECT doc_id, host_id, state, outcome, last_page, kind, tries FROM url WHERE md5 = ?;

-- name: prune_downloads
-- Only so many ended downloads of a feed are kept.
DELETE FROM download WHERE type = 0 AND feed_id = :feed_id AND state IS NOT NULL
    AND download_id <= (SELECT download_id FROM download WHERE type = 0 AND feed_id = :feed_id
        ORDER BY download_id DESC LIMIT 1 OFFSET :keep);

-- name: tries_of
-- The tries of a URL, the latest first, each with whether the archive has a document of it.
WITH RECURSIVE try (fetch_id, previous, stored) AS (
    SELECT fetch.fetch_id, fetch.previous,
        fetch.file_id IS NOT NULL AND fetch.status BETWEEN 200 AND 299
    FROM url JOIN fetch ON fetch.fetch_id = url.last_fetch WHERE url.doc_id = :doc_id
    UNION ALL
    SELECT fetch.fetch_id, fetch.previous,
        fetch.file_id IS NOT NULL AND fetch.status BETWEEN 200 AND 299
    FROM try JOIN fetch ON fetch.fetch_id = try.previous
    LIMIT :most
)
SELECT fetch_id, previous, stored FROM try;

-- name: is_referred_to
-- Whether a download, or the URL itself, needs a try.
SELECT EXISTS (SELECT 1 FROM download WHERE fetch_id = :fetch_id)
    OR EXISTS (SELECT 1 FROM url WHERE doc_id = :doc_id AND last_page = :fetch_id);

-- name: link_try
-- The try before another one.
UPDATE fetch SET previous = ? WHERE fetch_id = ?;

-- name: delete_try
-- A try is forgotten.
DELETE FROM fetch WHERE fetch_id = ?;

-- name: feed_facts
-- What the end of a poll needs to know of a feed.
SELECT feed.source_id, feed.enabled AND source.enabled, feed.last_attempt_at,
    feed.last_new_story_at, feed.last_checksum, feed.failures, feed.successes_in_a_row,
    feed.interval_seconds, feed.ttl_seconds, source.content_delay_seconds, feed.title, feed.form,
    feed.last_success_at, feed.url
FROM feed JOIN source ON source.source_id = feed.source_id
WHERE feed.feed_id = ?;

-- name: feed_polled
-- A feed was polled.
UPDATE feed SET due_at = :due_at, last_attempt_at = :attempted_at,
    last_success_at = coalesce(:success_at, last_success_at),
    last_new_story_at = :new_story_at, last_checksum = :checksum, last_error = :error,
    failures = :failures, successes_in_a_row = :successes, interval_seconds = :interval,
    ttl_seconds = :ttl, title = :title, form = :form,
    enabled = CASE WHEN :give_up THEN 0 ELSE enabled END,
    why_disabled = CASE WHEN :give_up THEN :why ELSE why_disabled END
WHERE feed_id = :feed_id;

-- name: feed_failing
-- A download of a feed is tried again later.
UPDATE feed SET last_error = ? WHERE feed_id = ?;

-- name: feed_again
-- A feed is due at once.
UPDATE feed SET due_at = 0 WHERE feed_id = ?;

-- name: feed_moved
-- The URL of a feed has changed for good.
UPDATE feed SET doc_id = ? WHERE feed_id = ?;

-- name: feed_back
-- A feed is asked for where it was, by the identity of its first URL.
UPDATE feed SET doc_id = (SELECT doc_id FROM url WHERE md5 = ?) WHERE feed_id = ?;

-- name: checksums_of
-- What the URLs of feeds summed up to at their last polls, for all that wait for a document.
SELECT feed.last_checksum FROM download JOIN feed ON feed.feed_id = download.feed_id
WHERE download.doc_id = ? AND download.state IS NULL AND download.type = 0;

-- name: read_until
-- Until when all feeds that wait for a document have read it; 0: one of them never has.
SELECT min(coalesce(feed.last_success_at, 0))
FROM download JOIN feed ON feed.feed_id = download.feed_id
WHERE download.doc_id = ? AND download.state IS NULL AND download.type = 0;

-- name: was_fetched_since
-- Whether a try after a moment brought a document.
WITH RECURSIVE try (previous, status) AS (
    SELECT fetch.previous, fetch.status FROM url JOIN fetch ON fetch.fetch_id = url.last_fetch
    WHERE url.doc_id = :doc_id AND fetch.fetched_at > :moment
    UNION ALL
    SELECT fetch.previous, fetch.status FROM try JOIN fetch ON fetch.fetch_id = try.previous
    WHERE fetch.fetched_at > :moment
)
SELECT EXISTS (SELECT 1 FROM try WHERE status BETWEEN 200 AND 299);

-- name: known_keys
-- Which stories of a source are known by some keys; the placeholder stands for as many as there are.
SELECT key, story_id FROM story_key WHERE source_id = ? AND key IN (?);

-- name: story_of_title
-- The story of a source with this title in a week.
SELECT story_id FROM story WHERE source_id = ? AND week = ? AND title_key = ?;

-- name: insert_story
-- A story is new.
INSERT INTO story (source_id, doc_id, url, guid, title, title_key, week, collected_at, published,
    published_how, published_confidence, authors, language, description, image, tags, hints)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_key
-- A story is known by one more key.
INSERT INTO story_key (source_id, key, story_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: insert_seen
-- A story was seen in a feed.
INSERT INTO feed_story (story_id, feed_id, seen_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: source_by_name
-- A source.
SELECT source_id FROM source WHERE name = ?;

-- name: insert_source
-- A source becomes known.
INSERT INTO source (name, home, tags, content_delay_seconds, added_at) VALUES (?, ?, ?, ?, ?);

-- name: feed_by_url
-- A feed of a source.
SELECT feed_id FROM feed WHERE source_id = ? AND url = ?;

-- name: revive_source
-- A source that was removed but for its stories is one again when it gets a feed.
UPDATE source SET enabled = 1
WHERE source_id = :source_id AND NOT EXISTS (SELECT 1 FROM feed WHERE source_id = :source_id);

-- name: insert_feed
-- A feed becomes known, and is due at once.
INSERT INTO feed (source_id, doc_id, url, title, form, added_at, due_at)
SELECT ?, ?, ?, ?, ?, ?, CASE WHEN enabled THEN 0 END FROM source WHERE source_id = ?;

-- name: enable_feed
-- A feed is polled again, at once unless a download of it is open.
UPDATE feed SET enabled = 1, why_disabled = '', failures = 0,
    due_at = CASE WHEN (SELECT enabled FROM source WHERE source.source_id = feed.source_id)
        AND NOT EXISTS (SELECT 1 FROM download WHERE download.feed_id = feed.feed_id
            AND download.state IS NULL AND download.type = 0) THEN 0 END
WHERE feed_id = ?;

-- name: disable_feed
-- A feed is not polled any more.
UPDATE feed SET enabled = 0, why_disabled = ?, due_at = NULL WHERE feed_id = ?;

-- name: switch_source
-- A source is polled, or not.
UPDATE source SET enabled = ? WHERE source_id = ?;

-- name: rest_feeds
-- The feeds of a source are not polled while it is disabled.
UPDATE feed SET due_at = NULL WHERE source_id = ?;

-- name: wake_feeds
-- The enabled feeds of a source are polled again.
UPDATE feed SET due_at = 0 WHERE source_id = ? AND enabled
    AND NOT EXISTS (SELECT 1 FROM download WHERE download.feed_id = feed.feed_id
        AND download.state IS NULL AND download.type = 0);

-- name: waiting_polls
-- Downloads of a feed that wait to be tried, and their documents.
SELECT download.download_id, download.doc_id FROM download JOIN url ON url.doc_id = download.doc_id
WHERE download.type = 0 AND download.feed_id = ? AND download.state IS NULL AND url.state = 0;

-- name: is_wanted
-- Whether a document is wanted for anything.
SELECT EXISTS (SELECT 1 FROM download WHERE doc_id = ? AND state IS NULL);

-- name: feeds_of_source
-- The feeds of a source.
SELECT feed_id FROM feed WHERE source_id = ?;

-- name: forget_feed_stories
-- Nothing is said of a removed feed.
DELETE FROM feed_story WHERE feed_id = ?;

-- name: forget_feed_downloads
-- The downloads of a removed feed go with it.
DELETE FROM download WHERE type = 0 AND feed_id = ?;

-- name: forget_push
-- The subscription of a removed feed goes with it.
DELETE FROM push WHERE feed_id = ?;

-- name: delete_feed
-- A feed is removed.
DELETE FROM feed WHERE feed_id = ?;

-- name: delete_empty_source
-- A source without feeds and stories is removed.
DELETE FROM source WHERE source_id = :source_id
    AND NOT EXISTS (SELECT 1 FROM feed WHERE feed.source_id = source.source_id)
    AND NOT EXISTS (SELECT 1 FROM story WHERE story.source_id = source.source_id);

-- name: forget_story_feed
-- Downloads of stories do not lead to a removed feed.
UPDATE download SET feed_id = NULL WHERE feed_id = ? AND type = 1;

-- name: newest
-- The latest numbers that were given out.
SELECT coalesce((SELECT max(story_id) FROM story), 0),
    coalesce((SELECT max(download_id) FROM download), 0);

-- name: stories_since
-- How many stories became known since one.
SELECT count(*) FROM story WHERE story_id > ?;

-- name: downloads_since
-- What came of the downloads made since one.
SELECT coalesce(sum(type = 0), 0), coalesce(sum(type = 1 AND state = 2), 0),
    coalesce(sum(state IN (3, 4)), 0)
FROM download WHERE download_id > ? AND state IS NOT NULL;
