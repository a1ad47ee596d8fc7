-- Of the tries of a feed only the latest are kept, and those that a download still refers to.
CREATE INDEX download_of_fetch ON download (fetch_id) WHERE fetch_id IS NOT NULL;
