SELECT grp, -1 AS target, held, place, doubt, number, upto, n
FROM (
    SELECT *,
        min(CASE WHEN held = 1 AND upto >= (0.5D * n - 54) THEN CAST(place AS DOUBLE) END) OVER (PARTITION
            BY grp) AS lowest0,
        max(CASE WHEN held = 1 AND upto - number <= (0.5D * n + 54) THEN CAST(place AS DOUBLE) END)
            OVER (PARTITION BY grp) AS highest0
    FROM (
        SELECT grp,
            held,
            place,
            doubt,
            number,
            CAST(sum(number) OVER (PARTITION BY grp ORDER BY level, place, doubt ROWS UNBOUNDED
                PRECEDING) AS BIGINT) AS upto,
            CAST(sum(number) OVER (PARTITION BY grp) AS BIGINT) AS n
        FROM (
            SELECT grp, level, held, place, doubt, count(*) AS number
            FROM (
                SELECT grp,
                    level,
                    held,
                    CASE WHEN held = 1 THEN CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D
                        THEN 10000.0D WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D)
                        + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) /
                        0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) THEN (rint(((raw
                        - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw
                        - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw - 0.0D) /
                        0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D)
                        THEN 1D ELSE 0D END) + 0.5D END ELSE 0.0D END AS place,
                    CASE WHEN held = 1 THEN CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D
                        THEN 0.0D WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) +
                        0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) /
                        0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) THEN 0.0D ELSE
                        raw END ELSE 0.0D END AS doubt
                FROM (
                    SELECT 0 AS grp,
                        cell AS raw,
                        CASE WHEN cell >= CAST('-inf' AS DOUBLE) THEN 1 ELSE 0 END + CASE WHEN cell
                            > CAST('inf' AS DOUBLE) THEN 1 ELSE 0 END AS level,
                        CASE WHEN (cell >= CAST('-inf' AS DOUBLE) AND cell <= CAST('inf' AS DOUBLE))
                            THEN 1 ELSE 0 END AS held
                    FROM (
                        SELECT cell, 0 AS grp
                        FROM (
                            SELECT CAST(`tip` AS DOUBLE) AS cell
                            FROM {source}
                            WHERE (coalesce(((((CASE WHEN octet_length(CAST(`city` AS STRING)) <=
                                    40000 THEN CASE WHEN char_length(CAST(`city` AS STRING)) <=
                                    10000 THEN CAST(`city` AS STRING) END END)) = CAST(X'4f736c6f'
                                    AS STRING)) AND ((CAST(unix_date(`day`) AS BIGINT)) >= (19723))),
                                    FALSE))
                        ) AS cells
                        WHERE (cell IS NOT NULL AND NOT isnan(cell))
                    ) AS kept
                ) AS leveled
            ) AS keyed
            GROUP BY grp, level, held, place, doubt
        ) AS counted
    ) AS ranked
) AS bounded
WHERE held = 0 OR (CAST(place AS DOUBLE) >= lowest0 - 1.0D AND CAST(place AS DOUBLE) <= highest0 +
        1.0D);
