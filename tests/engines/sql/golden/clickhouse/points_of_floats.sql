SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT if(raw < 0.9950000000000001, 0, transform(roundDown(raw, [0.9950000000000001, 1.995,
            2.995, 3.995, 4.995, 5.995, 6.995, 7.995, 8.995000000000001]), [0.9950000000000001,
            1.995, 2.995, 3.995, 4.995, 5.995, 6.995, 7.995, 8.995000000000001], range(1, 10), 0))
            AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT toFloat64(`tip`) AS cell
                FROM `default`.`trips`
            ) AS cells
            WHERE (cell IS NOT NULL AND NOT isNaN(cell))
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
