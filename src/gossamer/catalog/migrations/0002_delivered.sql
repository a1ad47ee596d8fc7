-- delivered_at: when the spider said that the result of a leased URL is on its way to the store server; NULL before.
ALTER TABLE url ADD COLUMN delivered_at REAL;
