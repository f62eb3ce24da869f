SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT if(raw < CAST(1 AS Int64), 0, transform(roundDown(raw, [CAST(1 AS Int64), CAST(2 AS Int64),
            CAST(4 AS Int64), CAST(8 AS Int64), CAST(16 AS Int64), CAST(32 AS Int64), CAST(64 AS
            Int64)]), [CAST(1 AS Int64), CAST(2 AS Int64), CAST(4 AS Int64), CAST(8 AS Int64), CAST(16
            AS Int64), CAST(32 AS Int64), CAST(64 AS Int64)], range(1, 8), 0)) AS bucket
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
