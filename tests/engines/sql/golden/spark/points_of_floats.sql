SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CASE WHEN raw < 4.995D THEN CASE WHEN raw < 2.995D THEN CASE WHEN raw < 1.995D THEN CASE
            WHEN raw < 0.9950000000000001D THEN 0 ELSE 1 END ELSE 2 END ELSE CASE WHEN raw < 3.995D
            THEN 3 ELSE 4 END END ELSE CASE WHEN raw < 7.995D THEN CASE WHEN raw < 6.995D THEN CASE
            WHEN raw < 5.995D THEN 5 ELSE 6 END ELSE 7 END ELSE CASE WHEN raw < 8.995000000000001D
            THEN 8 ELSE 9 END END END AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT CAST(`tip` AS DOUBLE) AS cell
                FROM {source}
            ) AS cells
            WHERE (cell IS NOT NULL AND NOT isnan(cell))
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
