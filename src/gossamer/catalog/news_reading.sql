-- What people ask about news. Each statement has a name and one line that says what it is for.
-- Long walks find the ids of a step first, in an index, and then read the rows that are wanted.

-- name: source_rows
-- Sources by name, with how many feeds each has.
SELECT source_id, name, home, enabled, tags, content_delay_seconds, added_at,
    (SELECT count(*) FROM feed WHERE feed.source_id = source.source_id)
FROM source WHERE name > :after ORDER BY name LIMIT :count;

-- name: source_named
-- One source, with how many feeds it has.
SELECT source_id, name, home, enabled, tags, content_delay_seconds, added_at,
    (SELECT count(*) FROM feed WHERE feed.source_id = source.source_id)
FROM source WHERE name = ?;

-- name: delay_content
-- From now on the stories of a source are fetched this long after they were found.
UPDATE source SET content_delay_seconds = ? WHERE source_id = ?;

-- name: feed_ids_of
-- The feeds of a source by URL.
SELECT feed_id, url FROM feed WHERE source_id = :source_id AND url > :after
ORDER BY url LIMIT :count;

-- name: feed_ids_at
-- The feeds, one for each source that has it, with a URL.
SELECT feed_id FROM feed WHERE url = ? ORDER BY source_id;

-- name: feed_rows
-- Feeds with what politeness knows of their host and what became of the latest download.
SELECT feed.feed_id, feed.source_id, source.name, source.enabled, feed.url, feed.title, feed.form,
    feed.enabled, feed.why_disabled, feed.added_at, feed.due_at, feed.last_attempt_at,
    feed.last_success_at, feed.last_new_story_at, feed.last_error, feed.failures,
    feed.interval_seconds, feed.ttl_seconds, url.url, host.name, host.parked_until,
    host.parked_reason, download.download_id IS NOT NULL AND download.state IS NULL,
    url.state = 1, url.due_at, fetch.outcome, download.content,
    push.hub, push.state, push.last_push_at
FROM feed
JOIN source ON source.source_id = feed.source_id
JOIN url ON url.doc_id = feed.doc_id
JOIN host ON host.host_id = url.host_id
LEFT JOIN download ON download.download_id = (
    SELECT max(latest.download_id) FROM download AS latest
    WHERE latest.feed_id = feed.feed_id AND latest.type = 0
)
LEFT JOIN fetch ON fetch.fetch_id = download.fetch_id
LEFT JOIN push ON push.feed_id = feed.feed_id
WHERE feed.feed_id IN (SELECT value FROM json_each(?));

-- name: news_totals
-- How much there is of everything, and when a feed is polled next.
SELECT (SELECT count(*) FROM source), (SELECT count(*) FROM feed),
    (SELECT count(*) FROM feed JOIN source USING (source_id)
        WHERE NOT feed.enabled OR NOT source.enabled),
    (SELECT count(*) FROM feed WHERE failures > 0),
    (SELECT count(*) FROM story),
    (SELECT count(*) FROM download WHERE state IS NULL),
    (SELECT count(*) FROM extraction WHERE state = 0),
    (SELECT min(due_at) FROM feed WHERE due_at IS NOT NULL);

-- name: stories_of_sources
-- How many stories each source has.
SELECT source_id, count(*) FROM story GROUP BY source_id;

-- name: stories_between
-- How many stories of each source were collected in a stretch of time.
SELECT source_id, count(*) FROM story WHERE collected_at >= ? AND collected_at < ?
GROUP BY source_id;

-- name: story_ids_before
-- The next stories of a walk from the latest to the earliest.
SELECT collected_at, story_id FROM story
WHERE collected_at >= :since AND (collected_at, story_id) < (:collected_at, :story_id)
ORDER BY collected_at DESC, story_id DESC LIMIT :count;

-- name: story_ids_of_url
-- The stories under a URL, one for each source that has it.
SELECT story_id FROM story WHERE doc_id = ? ORDER BY story_id;

-- name: story_rows
-- Stories, with their texts if those are wanted.
SELECT story.story_id, source.name, story.url, story.canonical_url, story.guid, story.title,
    story.authors, story.authors_confidence, story.published, story.published_how,
    story.published_confidence, story.language, story.language_confidence, story.description,
    story.image, story.tags, story.collected_at, story.group_id,
    CASE WHEN :with_text THEN article.text END, article.how, article.confidence
FROM story
JOIN source ON source.source_id = story.source_id
LEFT JOIN article ON article.story_id = story.story_id
WHERE story.story_id IN (SELECT value FROM json_each(:story_ids))
    AND (:source_id IS NULL OR story.source_id = :source_id);

-- name: feeds_of_stories
-- In which feeds stories were seen, the first one first.
SELECT feed_story.story_id, feed.url FROM feed_story
JOIN feed ON feed.feed_id = feed_story.feed_id
WHERE feed_story.story_id IN (SELECT value FROM json_each(?))
ORDER BY feed_story.story_id, feed_story.seen_at, feed_story.feed_id;

-- name: pages_of_stories
-- Where the pages of stories are kept and how their extraction stands, the latest last.
SELECT download.story_id, file.name, fetch.offset, fetch.length, extraction.state,
    extraction.detail
FROM download
LEFT JOIN fetch ON fetch.fetch_id = download.fetch_id
LEFT JOIN file ON file.file_id = fetch.file_id
LEFT JOIN extraction ON extraction.download_id = download.download_id
WHERE download.story_id IN (SELECT value FROM json_each(?)) AND download.type = 1
ORDER BY download.download_id;

-- name: download_ids_before
-- The next downloads of a walk from the latest to the earliest.
SELECT download_id FROM download WHERE download_id < ? ORDER BY download_id DESC LIMIT ?;

-- name: download_ids_of_feed
-- The latest downloads of a feed.
SELECT download_id FROM download WHERE feed_id = ? AND type = 0
ORDER BY download_id DESC LIMIT ?;

-- name: download_ids_of_story
-- The latest downloads of a story.
SELECT download_id FROM download WHERE story_id = ? ORDER BY download_id DESC LIMIT ?;

-- name: download_rows
-- Downloads, with the feed or the source they were made for.
SELECT row.download_id, row.url, row.type, row.state, row.error, row.retries, row.not_before,
    row.priority, row.host, row.made_at, row.ended_at, row.status, row.outcome, feed.url,
    row.story_id, row.content, file.name, fetch.offset, fetch.length
FROM download_row AS row
LEFT JOIN feed ON feed.feed_id = row.feed_id
LEFT JOIN story ON story.story_id = row.story_id
LEFT JOIN fetch ON fetch.fetch_id = row.fetch_id
LEFT JOIN file ON file.file_id = fetch.file_id
WHERE row.download_id IN (SELECT value FROM json_each(:download_ids))
    AND (:state IS NULL OR row.state = :state)
    AND (:type IS NULL OR row.type = :type)
    AND (:source_id IS NULL OR coalesce(feed.source_id, story.source_id) = :source_id)
ORDER BY row.download_id DESC;
