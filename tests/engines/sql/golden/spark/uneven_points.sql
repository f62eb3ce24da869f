SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CASE WHEN raw < CAST(8 AS BIGINT) THEN CASE WHEN raw < CAST(2 AS BIGINT) THEN CASE WHEN
            raw < CAST(1 AS BIGINT) THEN 0 ELSE 1 END ELSE CASE WHEN raw < CAST(4 AS BIGINT) THEN 2
            ELSE 3 END END ELSE CASE WHEN raw < CAST(32 AS BIGINT) THEN CASE WHEN raw < CAST(16 AS
            BIGINT) THEN 4 ELSE 5 END ELSE CASE WHEN raw < CAST(64 AS BIGINT) THEN 6 ELSE 7 END END
            END AS bucket
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
