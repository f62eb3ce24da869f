SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CAST(CASE WHEN raw < CAST(64 AS BIGINT) THEN 0 WHEN raw >= CAST(960 AS BIGINT) THEN 15
            ELSE ((raw - CAST(64 AS BIGINT)) DIV 64) + 1 END AS BIGINT) AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT CAST(`fare` AS BIGINT) AS cell
                FROM {source}
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
