-- Which fetches in the archive brought the contents of a site's URLs: those that were made for it, also
-- where a redirect led; not those for sites that ask with other headers, and may get other answers.
CREATE TABLE site_content (
    site_id INTEGER NOT NULL,
    doc_id INTEGER NOT NULL,
    fetch_id INTEGER NOT NULL REFERENCES fetch (fetch_id),
    PRIMARY KEY (site_id, doc_id, fetch_id)
) STRICT, WITHOUT ROWID;

-- Until now all fetches of a URL were taken for those of all its sites.
INSERT INTO site_content (site_id, doc_id, fetch_id)
SELECT service_site.site_id, fetch.doc_id, fetch.fetch_id
FROM fetch CROSS JOIN member ON member.doc_id = fetch.doc_id
JOIN service_site ON service_site.set_id = member.set_id
WHERE fetch.file_id IS NOT NULL AND fetch.status BETWEEN 200 AND 299;
