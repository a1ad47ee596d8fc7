-- Members that somebody is working on. A list of five numbers in the condition of an index is made a
-- table of its own for each row that enters or changes; comparisons are not.
DROP INDEX member_busy;
CREATE INDEX member_busy ON member (tcdate)
WHERE status >= 2 AND status <= 8 AND status <> 4 AND status <> 7;
