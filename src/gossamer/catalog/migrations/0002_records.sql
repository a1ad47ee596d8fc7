-- What handlers of the user's own made of documents, as JSON; replaced when a document is fetched anew.
CREATE TABLE record (
    record_id INTEGER PRIMARY KEY,
    doc_id INTEGER NOT NULL REFERENCES url (doc_id),
    json TEXT NOT NULL
) STRICT;

CREATE INDEX record_of ON record (doc_id);
