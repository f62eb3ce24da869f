SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CAST(CASE WHEN raw < CAST(64 AS Int64) THEN 0 WHEN raw >= CAST(960 AS Int64) THEN 15 ELSE
            intDiv((raw - CAST(64 AS Int64)), 64) + 1 END AS Int64) AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT toInt64(`fare`) AS cell
                FROM `default`.`trips`
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
