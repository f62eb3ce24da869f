SELECT 0 AS grp, (CAST(bucket AS INTEGER) + 1) % 65536 AS bucket, count(*) AS number
FROM (
    SELECT CASE WHEN raw < CAST(64 AS BIGINT) THEN CAST(65535 AS USMALLINT) WHEN raw >= CAST(960 AS
            BIGINT) THEN CAST(14 AS USMALLINT) ELSE CAST(((raw - CAST(64 AS BIGINT)) >> 6) AS
            USMALLINT) END AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell
                FROM "taxis"."main"."trips"
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
