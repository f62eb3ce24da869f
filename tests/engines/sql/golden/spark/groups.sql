SELECT grp, -1 AS target, held, place, doubt, number, upto, n
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
                CASE WHEN held = 1 THEN CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0
                    THEN 0 ELSE raw END END AS BIGINT) ELSE CAST(0 AS BIGINT) END AS place,
                CASE WHEN held = 1 THEN 0 ELSE 0 END AS doubt
            FROM (
                SELECT grp,
                    cell AS raw,
                    CASE WHEN cell >= low0 THEN 1 ELSE 0 END + CASE WHEN cell > last0 THEN 1 ELSE 0
                        END AS level,
                    CASE WHEN (cell >= low0 AND cell <= last0) THEN 1 ELSE 0 END AS held
                FROM (
                    SELECT cell, keys0.number * 1 AS grp
                    FROM (
                        SELECT CAST(`fare` AS BIGINT) AS cell,
                            (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                                char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS
                                STRING) END END) AS key0
                        FROM {source}
                    ) AS cells
                        JOIN (
                        VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1),
                                (CAST(X'426f64c3b8' AS STRING), 2)
                    ) AS keys0(name, number) ON key0 = keys0.name
                    WHERE cell IS NOT NULL
                ) AS kept
                    JOIN (
                    VALUES (0, CAST(-9223372036854775808 AS BIGINT), CAST(9223372036854775807 AS
                            BIGINT), -14.609375D, -6.8046875D, 1007.8046875D, 15.609375D), (1, CAST(-9223372036854775808
                            AS BIGINT), CAST(9223372036854775807 AS BIGINT), -14.609375D,
                            -6.8046875D, 1007.8046875D, 15.609375D), (2, CAST(-9223372036854775808
                            AS BIGINT), CAST(9223372036854775807 AS BIGINT), -14.609375D,
                            -6.8046875D, 1007.8046875D, 15.609375D)
                ) AS limits(number, low0, last0, start0, first0, final0, width0) ON grp =
                        limits.number
            ) AS leveled
        ) AS keyed
        GROUP BY grp, level, held, place, doubt
    ) AS counted
) AS ranked
WHERE held = 0 OR (upto >= (0.5D * n - 54) AND upto - number <= (0.5D * n + 54));
