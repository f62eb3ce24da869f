SELECT grp, -1 AS target, held, place, doubt, number, upto, n
FROM (
    SELECT *,
        min(CASE WHEN held = 1 AND upto >= (0.5 * n - 54) THEN toFloat64(place) END) OVER (PARTITION
            BY grp) AS lowest0,
        max(CASE WHEN held = 1 AND upto - number <= (0.5 * n + 54) THEN toFloat64(place) END) OVER (PARTITION
            BY grp) AS highest0
    FROM (
        SELECT grp,
            held,
            place,
            doubt,
            number,
            CAST(sum(number) OVER (PARTITION BY grp ORDER BY level, place, doubt ROWS UNBOUNDED
                PRECEDING) AS Int64) AS upto,
            CAST(sum(number) OVER (PARTITION BY grp) AS Int64) AS n
        FROM (
            SELECT grp, level, held, place, doubt, count(*) AS number
            FROM (
                SELECT grp,
                    level,
                    held,
                    CASE WHEN held = 1 THEN CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN
                        10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5))
                        < 0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw
                        - 0.0) / 0.01)) + 0.5 END ELSE 0.0 END AS place,
                    CASE WHEN held = 1 THEN CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN
                        0.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) <
                        0.49999999999111644) THEN 0.0 ELSE raw END ELSE 0.0 END AS doubt
                FROM (
                    SELECT 0 AS grp,
                        cell AS raw,
                        CASE WHEN cell >= -inf THEN 1 ELSE 0 END + CASE WHEN cell > inf THEN 1 ELSE
                            0 END AS level,
                        CASE WHEN (cell >= -inf AND cell <= inf) THEN 1 ELSE 0 END AS held
                    FROM (
                        SELECT cell, 0 AS grp
                        FROM (
                            SELECT toFloat64(`tip`) AS cell
                            FROM `default`.`trips`
                            WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`))
                                    THEN toString(`city`) END) <= 40000 THEN CASE WHEN lengthUTF8(CASE
                                    WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END) <=
                                    10000 THEN CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`)
                                    END END END)) = unhex('4f736c6f')) AND ((toInt64(`day`)) >= (19723))),
                                    FALSE))
                        ) AS cells
                        WHERE (cell IS NOT NULL AND NOT isNaN(cell))
                    ) AS kept
                ) AS leveled
            ) AS keyed
            GROUP BY grp, level, held, place, doubt
        ) AS counted
    ) AS ranked
) AS bounded
WHERE held = 0 OR (toFloat64(place) >= lowest0 - 1.0 AND toFloat64(place) <= highest0 + 1.0);
