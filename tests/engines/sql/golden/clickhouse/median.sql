SELECT grp, -1 AS target, held, place, doubt, number, upto, n
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
                CASE WHEN held = 1 THEN CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0
                    THEN 0 ELSE raw END END AS Int64) ELSE CAST(0 AS Int64) END AS place,
                CASE WHEN held = 1 THEN 0 ELSE 0 END AS doubt
            FROM (
                SELECT 0 AS grp,
                    cell AS raw,
                    CASE WHEN cell >= CAST(-9223372036854775808 AS Int64) THEN 1 ELSE 0 END + CASE
                        WHEN cell > CAST(9223372036854775807 AS Int64) THEN 1 ELSE 0 END AS level,
                    CASE WHEN (cell >= CAST(-9223372036854775808 AS Int64) AND cell <= CAST(9223372036854775807
                        AS Int64)) THEN 1 ELSE 0 END AS held
                FROM (
                    SELECT cell, 0 AS grp
                    FROM (
                        SELECT toInt64(`fare`) AS cell
                        FROM `default`.`trips`
                    ) AS cells
                    WHERE cell IS NOT NULL
                ) AS kept
            ) AS leveled
        ) AS keyed
        GROUP BY grp, level, held, place, doubt
    ) AS counted
) AS ranked
WHERE held = 0 OR (upto >= (0.5 * n - 54) AND upto - number <= (0.5 * n + 54));
