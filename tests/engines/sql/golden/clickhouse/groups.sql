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
                SELECT grp,
                    cell AS raw,
                    CASE WHEN cell >= low0 THEN 1 ELSE 0 END + CASE WHEN cell > last0 THEN 1 ELSE 0
                        END AS level,
                    CASE WHEN (cell >= low0 AND cell <= last0) THEN 1 ELSE 0 END AS held
                FROM (
                    SELECT cell, keys0.number * 1 AS grp
                    FROM (
                        SELECT toInt64(`fare`) AS cell,
                            (CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`)
                                END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`))
                                THEN toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`))
                                THEN toString(`city`) END END END) AS key0
                        FROM `default`.`trips`
                    ) AS cells
                        JOIN (
                        SELECT listed.1 AS name, listed.2 AS number
                        FROM (
                            SELECT arrayJoin(arrayZip([unhex('4f736c6f'), unhex('42657267656e'),
                                    unhex('426f64c3b8')], [0, 1, 2])) AS listed
                        )
                    ) AS keys0 ON key0 = keys0.name
                    WHERE cell IS NOT NULL
                ) AS kept
                    JOIN (
                    SELECT listed.1 AS number,
                        listed.2 AS low0,
                        listed.3 AS last0,
                        listed.4 AS start0,
                        listed.5 AS first0,
                        listed.6 AS final0,
                        listed.7 AS width0
                    FROM (
                        SELECT arrayJoin(arrayZip([0, 1, 2], [CAST(-9223372036854775808 AS Int64),
                                CAST(-9223372036854775808 AS Int64), CAST(-9223372036854775808 AS
                                Int64)], [CAST(9223372036854775807 AS Int64), CAST(9223372036854775807
                                AS Int64), CAST(9223372036854775807 AS Int64)], [-14.609375,
                                -14.609375, -14.609375], [-6.8046875, -6.8046875, -6.8046875],
                                [1007.8046875, 1007.8046875, 1007.8046875], [15.609375, 15.609375,
                                15.609375])) AS listed
                    )
                ) AS limits ON grp = limits.number
            ) AS leveled
        ) AS keyed
        GROUP BY grp, level, held, place, doubt
    ) AS counted
) AS ranked
WHERE held = 0 OR (upto >= (0.5 * n - 54) AND upto - number <= (0.5 * n + 54));
