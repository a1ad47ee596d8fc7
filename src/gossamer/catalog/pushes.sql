-- The statements of WebSub. Each has a name and one line that says what it is for.

-- name: note_hub
-- A feed names a hub: asked at once if it is a new one, or the topic is.
INSERT INTO push (feed_id, hub, topic, state, next_at) VALUES (?, ?, ?, 0, 0)
ON CONFLICT (feed_id) DO UPDATE SET hub = excluded.hub, topic = excluded.topic, state = 0,
    token = '', secret = '', next_at = 0, lease_until = NULL, asked = 0, detail = ''
WHERE hub <> excluded.hub OR topic <> excluded.topic;

-- name: push_by_token
-- What a callback stands for, and whether the feed is still polled.
SELECT push.feed_id, push.hub, push.topic, push.state, push.token, push.secret, push.asked,
    push.lease_until, feed.enabled AND source.enabled
FROM push JOIN feed ON feed.feed_id = push.feed_id
JOIN source ON source.source_id = feed.source_id
WHERE push.token = ? AND push.token <> '';

-- name: pushes_due
-- Hubs to be asked, of feeds that are polled; some hubs rest.
SELECT push.feed_id, push.hub, push.topic, push.state, push.token, push.secret, push.asked,
    push.lease_until, feed.enabled AND source.enabled
FROM push INDEXED BY push_next JOIN feed ON feed.feed_id = push.feed_id
JOIN source ON source.source_id = feed.source_id
WHERE push.next_at IS NOT NULL AND push.next_at <= :now AND feed.enabled AND source.enabled
    AND push.hub NOT IN (SELECT value FROM json_each(:resting))
ORDER BY push.next_at LIMIT :limit;

-- name: pushes_unwanted
-- Hubs that still tell us of feeds that are not polled any more; some hubs rest.
SELECT push.feed_id, push.hub, push.topic, push.state, push.token, push.secret, push.asked,
    push.lease_until, 0
FROM push JOIN feed ON feed.feed_id = push.feed_id
JOIN source ON source.source_id = feed.source_id
WHERE push.state IN (1, 2) AND NOT (feed.enabled AND source.enabled)
    AND push.hub NOT IN (SELECT value FROM json_each(:resting))
LIMIT :limit;

-- name: want_again
-- Feeds that are polled again want their pushes again.
UPDATE push SET next_at = 0 WHERE state = 0 AND next_at IS NULL AND feed_id IN (
    SELECT feed.feed_id FROM feed JOIN source ON source.source_id = feed.source_id
    WHERE feed.enabled AND source.enabled);

-- name: ask_hub
-- A hub is asked; a subscription that is still good stays one.
UPDATE push SET token = :token, secret = :secret, asked = asked + 1, next_at = :next_at,
    state = CASE WHEN state = 2 AND lease_until > :now THEN 2 ELSE 1 END
WHERE feed_id = :feed_id AND hub = :hub AND topic = :topic;

-- name: hub_failed
-- A hub did not take the question, and has not confirmed it all the same.
UPDATE push SET state = coalesce(:state, state), next_at = :next_at, detail = :detail
WHERE feed_id = :feed_id AND token = :token AND asked > 0;

-- name: leave_hub
-- A hub is told that we want to hear no more.
UPDATE push SET state = 0, next_at = NULL, lease_until = NULL, asked = 0, detail = ''
WHERE feed_id = ? AND token = ?;

-- name: confirm_push
-- A hub has asked whether we mean it: the lease begins. One that was not asked for changes nothing.
UPDATE push SET state = 2, asked = 0, lease_until = :lease_until, next_at = :next_at, detail = ''
WHERE token = :token AND asked > 0;

-- name: deny_push
-- A hub will not tell us.
UPDATE push SET state = 3, lease_until = NULL, next_at = :next_at, detail = :detail
WHERE token = :token;

-- name: count_pushes
-- A hub has told us something.
UPDATE push SET pushes = pushes + :count, last_push_at = :now WHERE feed_id = :feed_id;

-- name: poll_pushed
-- A feed that was pushed since its last poll is polled, but not at once after that, nor while a poll is open.
UPDATE feed SET due_at = min(:now + :gap, max(:now, coalesce(last_attempt_at, 0) + :gap))
WHERE feed_id = :feed_id AND enabled AND due_at IS NOT NULL
    AND due_at > min(:now + :gap, max(:now, coalesce(last_attempt_at, 0) + :gap))
    AND (last_attempt_at > :now OR coalesce(last_attempt_at, 0) < (SELECT last_push_at FROM push
        WHERE push.feed_id = feed.feed_id));

-- name: pushes_owed
-- Feeds that were pushed since their last poll began and are not due, because one is open.
SELECT push.feed_id FROM push JOIN feed ON feed.feed_id = push.feed_id
JOIN source ON source.source_id = feed.source_id
WHERE push.last_push_at > coalesce(feed.last_attempt_at, 0) AND feed.enabled AND source.enabled
    AND feed.due_at IS NULL;

-- name: is_owed
-- Whether a feed was pushed since its last poll began and is not due, because one is open.
SELECT push.last_push_at > coalesce(feed.last_attempt_at, 0) AND feed.enabled AND source.enabled
    AND feed.due_at IS NULL
FROM push JOIN feed ON feed.feed_id = push.feed_id
JOIN source ON source.source_id = feed.source_id
WHERE push.feed_id = ?;

-- name: note_ignored
-- Calls that claimed to come from a hub were ignored.
UPDATE push SET detail = ? WHERE feed_id = ? AND state <> 3;

-- name: ask_all_again
-- The address at which we listen has changed: every hub is told the new one.
UPDATE push SET state = 0, asked = 0, next_at = 0, lease_until = NULL
WHERE state <> 0 OR next_at IS NOT NULL;

-- name: push_rows
-- Subscriptions, for people.
SELECT push.feed_id, feed.url, push.hub, push.topic, push.state, push.next_at, push.lease_until,
    push.asked, push.pushes, push.last_push_at, push.detail
FROM push JOIN feed ON feed.feed_id = push.feed_id ORDER BY push.feed_id LIMIT ?;
