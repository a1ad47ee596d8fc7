-- The statements of extraction. Each has a name and one line that says what it is for.

-- name: queue_extraction
-- A page of a story is stored: a job, unless there is one.
INSERT INTO extraction (download_id, story_id, queued_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: queued_jobs
-- The next jobs after one, of a story or a source if one is given, with all that they need.
SELECT extraction.download_id, extraction.story_id, extraction.tries,
    coalesce(url.url, download.url), file.name, fetch.offset, fetch.length, download.content,
    coalesce(fetch.content_type, ''), fetch.fetched_at, coalesce(story.hints, '{}'),
    coalesce(source.name, '')
FROM extraction INDEXED BY extraction_queue
CROSS JOIN download ON download.download_id = extraction.download_id
LEFT JOIN fetch ON fetch.fetch_id = download.fetch_id
LEFT JOIN file ON file.file_id = fetch.file_id
LEFT JOIN url ON url.doc_id = coalesce(fetch.doc_id, download.doc_id)
LEFT JOIN story ON story.story_id = extraction.story_id
LEFT JOIN source ON source.source_id = story.source_id
WHERE extraction.state = 0 AND extraction.download_id > :after
    AND (:story_id IS NULL OR extraction.story_id = :story_id)
    AND (:source_id IS NULL OR story.source_id = :source_id)
ORDER BY extraction.download_id LIMIT :limit;

-- name: count_queued
-- How many jobs wait.
SELECT count(*) FROM extraction INDEXED BY extraction_queue WHERE state = 0;

-- name: count_try
-- A job was tried in vain, and is tried again.
UPDATE extraction SET tries = tries + 1, detail = :detail
WHERE download_id = :download_id AND state = 0;

-- name: end_extraction
-- A job is over, unless somebody else has ended it.
UPDATE extraction SET state = :state, tries = tries + 1, ended_at = :now, detail = :detail
WHERE download_id = :download_id AND state = 0;

-- name: later_extraction
-- Whether the page of a later download has been extracted for the story already.
SELECT 1 FROM download JOIN extraction ON extraction.download_id = download.download_id
WHERE download.story_id = :story_id AND download.download_id > :download_id AND extraction.state = 1
LIMIT 1;

-- name: requeue_all
-- Every job is done again.
UPDATE extraction SET state = 0, tries = 0, ended_at = NULL, detail = '' WHERE state <> 0;

-- name: requeue_story
-- The jobs of a story are done again.
UPDATE extraction SET state = 0, tries = 0, ended_at = NULL, detail = ''
WHERE state <> 0
    AND download_id IN (SELECT download_id FROM download WHERE story_id = :story_id);

-- name: requeue_source
-- The jobs of a source are done again.
UPDATE extraction SET state = 0, tries = 0, ended_at = NULL, detail = ''
WHERE state <> 0 AND story_id IN (SELECT story_id FROM story WHERE source_id = :source_id);

-- name: put_article
-- The text of a story.
INSERT INTO article (story_id, text, how, confidence, fingerprint, extracted_at)
VALUES (:story_id, :text, :how, :confidence, :fingerprint, :now)
ON CONFLICT (story_id) DO UPDATE SET text = excluded.text, how = excluded.how,
    confidence = excluded.confidence, fingerprint = excluded.fingerprint,
    extracted_at = excluded.extracted_at;

-- name: describe_story
-- What its page says of a story; a title only if its feed had none.
UPDATE story SET canonical_url = :canonical_url,
    title = CASE WHEN title_key IS NULL AND :title <> '' THEN :title ELSE title END,
    published = coalesce(:published, collected_at), published_how = :published_how,
    published_confidence = :published_confidence, authors = :authors,
    authors_confidence = :authors_confidence, language = :language,
    language_confidence = :language_confidence, description = :description, image = :image,
    tags = :tags
WHERE story_id = :story_id;

-- name: fingerprint_of
-- The fingerprint by which a story was compared so far.
SELECT fingerprint FROM article WHERE story_id = ?;

-- name: group_of
-- The group of a story.
SELECT group_id FROM story WHERE story_id = ?;

-- name: insert_band
-- A story can be found by one part of its fingerprint.
INSERT INTO article_band (band, story_id) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: delete_band
-- A story cannot be found by a part of its fingerprint any more.
DELETE FROM article_band WHERE band = ? AND story_id = ?;

-- name: band_mates
-- The latest stories that share a part of a fingerprint.
SELECT article_band.story_id, article.fingerprint FROM article_band
CROSS JOIN article ON article.story_id = article_band.story_id
WHERE article_band.band = :band AND article.fingerprint IS NOT NULL
ORDER BY article_band.story_id DESC LIMIT :limit;

-- name: groups_of
-- The groups of some stories.
SELECT story_id, group_id FROM story WHERE story_id IN (SELECT value FROM json_each(?));

-- name: members_of
-- The first stories of a group, with their fingerprints.
SELECT story.story_id, article.fingerprint FROM story INDEXED BY story_group
CROSS JOIN article ON article.story_id = story.story_id
WHERE story.group_id = :group_id AND article.fingerprint IS NOT NULL
ORDER BY story.story_id LIMIT :limit;

-- name: rename_group
-- All stories of a group are those of another.
UPDATE story INDEXED BY story_group SET group_id = :new WHERE group_id = :old;

-- name: set_group
-- The group of some stories.
UPDATE story SET group_id = :group_id
WHERE story_id IN (SELECT value FROM json_each(:story_ids)) AND group_id IS NOT :group_id;
