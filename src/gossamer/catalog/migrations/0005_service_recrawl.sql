-- Re-crawling goes on in steps with waits between them; where a site is in it stays in its row.
-- recrawl_phase: 0 not re-crawled now, 1 locked until its batches are over, 2 locked after its URLs
-- became new.
ALTER TABLE service_site ADD COLUMN recrawl_phase INTEGER NOT NULL DEFAULT 0;

CREATE INDEX service_site_recrawling ON service_site (recrawl_lock_until) WHERE recrawl_phase > 0;

-- URLs that wait for processing, among any number that do not.
CREATE INDEX member_processable ON member (set_id)
WHERE status = 4 AND state = 0 AND crawled > 0 AND size > 0 AND error_mask & 4198399 = 0
    AND content_type IN ('text/html', 'text/json') AND http_code = 200 AND parent_md5 <> ''
    AND type <> 6;
