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
        quantilesExact(0.4996051282262076, 0.4992252564524153, 0.49843551290483057,
            0.49805564113103823, 0.49726589758345346, 0.4960962822620764, 0.49453679516690696,
            0.4913504409765681, 0.4882051467862292, 0.48034191131038206, 0.4606838226207641,
            0.40564117428983393, 0.5003948717737924, 0.5007747435475847, 0.5015644870951694,
            0.5019443588689618, 0.5027341024165465, 0.5039037177379236, 0.505463204833093,
            0.5086495590234319, 0.5117948532137707, 0.5196580886896179, 0.5393161773792359,
            0.5943588257101661)(cell) AS found
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT toFloat64(`tip`) AS cell
            FROM (
                SELECT *
                FROM `default`.`trips`
                WHERE rowNumberInAllBlocks() % 152 = 0
            ) AS sampled
            WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN
                    toString(`city`) END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`))
                    THEN toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`))
                    THEN toString(`city`) END END END)) = unhex('4f736c6f')) AND ((toInt64(`day`))
                    >= (19723))), FALSE))
        ) AS cells
        WHERE (cell IS NOT NULL AND NOT isNaN(cell))
    ) AS kept
    GROUP BY grp
) AS tallied;

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
                    CASE WHEN held = 1 THEN CASE WHEN raw < 99.995 THEN 0.0 WHEN raw >= 99.995 THEN
                        10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5))
                        < 0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw
                        - 0.0) / 0.01)) + 0.5 END ELSE 0.0 END AS place,
                    CASE WHEN held = 1 THEN CASE WHEN raw < 99.995 THEN 0.0 WHEN raw >= 99.995 THEN
                        0.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) <
                        0.49999999999111644) THEN 0.0 ELSE raw END ELSE 0.0 END AS doubt
                FROM (
                    SELECT 0 AS grp,
                        cell AS raw,
                        CASE WHEN cell >= 99.995 THEN 1 ELSE 0 END + CASE WHEN cell > inf THEN 1
                            ELSE 0 END AS level,
                        CASE WHEN (cell >= 99.995 AND cell <= inf) THEN 1 ELSE 0 END AS held
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
