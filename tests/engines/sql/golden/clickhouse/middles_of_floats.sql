SELECT grp,
    0 AS doubt,
    0.0 AS cell,
    count(*) AS n,
    CAST(intDiv(sum(toInt128(CASE WHEN CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN
        10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) <
        0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01))
        + 0.5 END AS Int64) <= (100) THEN 1 ELSE 0 END)), 281474976710656) AS Int64) AS high,
    CAST(sum(toInt128(CASE WHEN CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN 10000.0
        WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644)
        THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01)) + 0.5 END AS Int64)
        <= (100) THEN 1 ELSE 0 END)) % 281474976710656 AS Int64) AS low,
    CAST(intDiv(sum(toInt128(CASE WHEN CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN
        10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) <
        0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01))
        + 0.5 END AS Int64) >= (900) THEN 1 ELSE 0 END)), 281474976710656) AS Int64) AS high1,
    CAST(sum(toInt128(CASE WHEN CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN 10000.0
        WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644)
        THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01)) + 0.5 END AS Int64)
        >= (900) THEN 1 ELSE 0 END)) % 281474976710656 AS Int64) AS low1,
    CAST(intDiv(sum(toInt128(CASE WHEN CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN
        10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) <
        0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01))
        + 0.5 END AS Int64) <= (100) OR CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN
        10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) <
        0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01))
        + 0.5 END AS Int64) >= (900) THEN CAST(0 AS Int64) ELSE CAST((CAST(CASE WHEN raw < 0.005
        THEN 0.0 WHEN raw >= 99.995 THEN 10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0)
        / 0.01) + 0.5)) < 0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw
        - 0.0) / 0.01)) + 0.5 END AS Int64) - (100)) AS Int64) END)), 281474976710656) AS Int64) AS
        high2,
    CAST(sum(toInt128(CASE WHEN CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN 10000.0
        WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644)
        THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01)) + 0.5 END AS Int64)
        <= (100) OR CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN 10000.0 WHEN (abs(((raw
        - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) THEN floor(((raw
        - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01)) + 0.5 END AS Int64) >= (900) THEN
        CAST(0 AS Int64) ELSE CAST((CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN
        10000.0 WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) <
        0.49999999999111644) THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01))
        + 0.5 END AS Int64) - (100)) AS Int64) END)) % 281474976710656 AS Int64) AS low2
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
WHERE NOT CASE WHEN raw < 0.005 THEN FALSE WHEN raw >= 99.995 THEN FALSE ELSE NOT (abs(((raw - 0.0)
        / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) END
GROUP BY grp
UNION ALL
SELECT grp,
    1 AS doubt,
    raw AS cell,
    count(*) AS n,
    CAST(0 AS Int64) AS high,
    CAST(0 AS Int64) AS low,
    CAST(0 AS Int64) AS high1,
    CAST(0 AS Int64) AS low1,
    CAST(0 AS Int64) AS high2,
    CAST(0 AS Int64) AS low2
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
WHERE CASE WHEN raw < 0.005 THEN FALSE WHEN raw >= 99.995 THEN FALSE ELSE NOT (abs(((raw - 0.0) /
        0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) END
GROUP BY grp, raw;
