-- With thousands of sites the one that has a set must not be looked for among all of them.
CREATE INDEX service_site_set ON service_site (set_id);

-- Which batches are not over, and which ended long ago, is asked every few seconds; most are neither.
CREATE INDEX batch_ended ON batch (ended_at);
