SELECT grp,
    size,
    found[1] AS raw0,
    found[2] AS raw1,
    found[3] AS raw2,
    found[4] AS raw3,
    found[5] AS raw4,
    found[6] AS raw5,
    found[7] AS raw6,
    found[8] AS raw7,
    found[9] AS raw8,
    found[10] AS raw9,
    found[11] AS raw10,
    found[12] AS raw11,
    found[13] AS raw12,
    found[14] AS raw13,
    found[15] AS raw14,
    found[16] AS raw15,
    found[17] AS raw16,
    found[18] AS raw17,
    found[19] AS raw18,
    found[20] AS raw19,
    found[21] AS raw20,
    found[22] AS raw21,
    found[23] AS raw22,
    found[24] AS raw23
FROM (
    SELECT grp,
        count(*) AS size,
        quantilesExact(0.49930972227935466, 0.4986644445587093, 0.49728388911741855,
            0.4966386113967732, 0.49525805595548245, 0.49323222279354634, 0.4905311119109649,
            0.48492675014580194, 0.47944556838063906, 0.46574261396773176, 0.43148522793546346,
            0.3355645470451123, 0.5006902777206453, 0.5013355554412907, 0.5027161108825815,
            0.5033613886032269, 0.5047419440445176, 0.5067677772064536, 0.5094688880890351,
            0.515073249854198, 0.520554431619361, 0.5342573860322682, 0.5685147720645365,
            0.6644354529548877)(cell) AS found
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT toInt64(`fare`) AS cell,
                (CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END)
                    <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`)) THEN
                    toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`)) THEN
                    toString(`city`) END END END) AS key0
            FROM (
                SELECT *
                FROM `default`.`trips`
                WHERE rowNumberInAllBlocks() % 152 = 0
            ) AS sampled
        ) AS cells
            JOIN (
            SELECT listed.1 AS name, listed.2 AS number
            FROM (
                SELECT arrayJoin(arrayZip([unhex('4f736c6f'), unhex('42657267656e'), unhex('426f64c3b8')],
                        [0, 1, 2])) AS listed
            )
        ) AS keys0 ON key0 = keys0.name
        WHERE cell IS NOT NULL
    ) AS kept
    GROUP BY grp
) AS tallied;

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
                CASE WHEN held = 1 THEN CAST(raw AS Int64) ELSE CAST(0 AS Int64) END AS place,
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
                        SELECT arrayJoin(arrayZip([0, 1, 2], [CAST(492 AS Int64), CAST(492 AS Int64),
                                CAST(492 AS Int64)], [CAST(508 AS Int64), CAST(508 AS Int64), CAST(508
                                AS Int64)], [489.9999999999998, 489.9999999999998,
                                489.9999999999998], [490.9999999999999, 490.9999999999999,
                                490.9999999999999], [509.0000000000001, 509.0000000000001,
                                509.0000000000001], [2.0000000000002274, 2.0000000000002274,
                                2.0000000000002274])) AS listed
                    )
                ) AS limits ON grp = limits.number
            ) AS leveled
        ) AS keyed
        GROUP BY grp, level, held, place, doubt
    ) AS counted
) AS ranked
WHERE held = 0 OR (upto >= (0.5 * n - 54) AND upto - number <= (0.5 * n + 54));
