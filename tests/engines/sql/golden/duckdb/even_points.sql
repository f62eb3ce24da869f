SELECT 0 AS grp, (CAST(bucket AS INTEGER) + 1) % 65536 AS bucket, count(*) AS number
FROM (
    SELECT CASE WHEN raw < CAST(100 AS BIGINT) THEN CAST(65535 AS USMALLINT) WHEN raw >= CAST(900 AS
            BIGINT) THEN CAST(8 AS USMALLINT) ELSE CAST(((raw - CAST(100 AS BIGINT)) // 100) AS
            USMALLINT) END AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell
                FROM "taxis"."main"."trips"
                WHERE (coalesce(((((CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <=
                        10000 THEN (CAST("city" AS VARCHAR) COLLATE "binary") END COLLATE "binary"))
                        = (('Oslo') COLLATE "binary")) AND ((date_diff('day', DATE '1970-01-01',
                        CASE WHEN "day" > DATE '9999-12-31' THEN DATE '9999-12-31' WHEN "day" < DATE
                        '0001-01-01' THEN DATE '0001-01-01' ELSE "day" END)) >= (19723))), FALSE))
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
