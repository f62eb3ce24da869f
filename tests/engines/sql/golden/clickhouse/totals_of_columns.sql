SELECT 0 AS grp,
    count(place0) AS n0,
    coalesce(CAST(intDiv(sum(toInt128(place0)), 281474976710656) AS Int64), 0) AS high0,
    coalesce(CAST(sum(toInt128(place0)) % 281474976710656 AS Int64), 0) AS low0,
    count(place1) AS n1,
    coalesce(CAST(intDiv(sum(toInt128(place1)), 281474976710656) AS Int64), 0) AS high1,
    coalesce(CAST(sum(toInt128(place1)) % 281474976710656 AS Int64), 0) AS low1,
    count(raw1) AS cells1
FROM (
    SELECT grp,
        CAST(CASE WHEN raw0 > 1000 THEN 1000 ELSE CASE WHEN raw0 < 0 THEN 0 ELSE raw0 END END AS
            Int64) AS place0,
        CASE WHEN NOT CASE WHEN raw1 < 0.005 THEN FALSE WHEN raw1 >= 99.995 THEN FALSE ELSE NOT (abs(((raw1
            - 0.0) / 0.01) - floor(((raw1 - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) END THEN
            CAST(CASE WHEN raw1 < 0.005 THEN 0.0 WHEN raw1 >= 99.995 THEN 10000.0 WHEN (abs(((raw1 -
            0.0) / 0.01) - floor(((raw1 - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) THEN floor(((raw1
            - 0.0) / 0.01) + 0.5) ELSE floor(((raw1 - 0.0) / 0.01)) + 0.5 END AS Int64) END AS
            place1,
        raw1 AS raw1
    FROM (
        SELECT grp,
            cell0 AS raw0,
            CASE WHEN (cell1 IS NOT NULL AND NOT isNaN(cell1)) THEN cell1 END AS raw1
        FROM (
            SELECT cell0, cell1, 0 AS grp
            FROM (
                SELECT toInt64(`fare`) AS cell0, toFloat64(`tip`) AS cell1
                FROM `default`.`trips`
                WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN
                        toString(`city`) END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN
                        isValidUTF8(toString(`city`)) THEN toString(`city`) END) <= 10000 THEN CASE
                        WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END END END)) =
                        unhex('4f736c6f')) AND ((toInt64(`day`)) >= (19723))), FALSE))
            ) AS cells
        ) AS kept
    ) AS raws
) AS numbered;
