SELECT grp,
    0 AS doubt,
    0.0 AS cell,
    count(*) AS n,
    CAST(intDiv(sum(toInt128(CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN 10000.0
        WHEN (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644)
        THEN floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01)) + 0.5 END AS Int64))),
        281474976710656) AS Int64) AS high,
    CAST(sum(toInt128(CAST(CASE WHEN raw < 0.005 THEN 0.0 WHEN raw >= 99.995 THEN 10000.0 WHEN (abs(((raw
        - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) THEN floor(((raw
        - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01)) + 0.5 END AS Int64))) %
        281474976710656 AS Int64) AS low
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
    CAST(0 AS Int64) AS low
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
