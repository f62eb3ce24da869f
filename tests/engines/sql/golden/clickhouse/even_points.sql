SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CAST(CASE WHEN raw < CAST(100 AS Int64) THEN 0 WHEN raw >= CAST(900 AS Int64) THEN 9 ELSE
            intDiv((raw - CAST(100 AS Int64)), 100) + 1 END AS Int64) AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT toInt64(`fare`) AS cell
                FROM `default`.`trips`
                WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN
                        toString(`city`) END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN
                        isValidUTF8(toString(`city`)) THEN toString(`city`) END) <= 10000 THEN CASE
                        WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END END END)) =
                        unhex('4f736c6f')) AND ((toInt64(`day`)) >= (19723))), FALSE))
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
