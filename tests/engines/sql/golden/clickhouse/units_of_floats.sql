SELECT DISTINCT raw
FROM (
    SELECT cell AS raw, grp, unit
    FROM (
        SELECT cell, 0 AS grp, unit
        FROM (
            SELECT toFloat64(`tip`) AS cell,
                (CASE WHEN length(CASE WHEN isValidUTF8(toString(`rider`)) THEN toString(`rider`)
                    END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`rider`))
                    THEN toString(`rider`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`rider`))
                    THEN toString(`rider`) END END END) AS unit
            FROM `default`.`trips`
        ) AS cells
        WHERE (cell IS NOT NULL AND NOT isNaN(cell)) AND unit IS NOT NULL
    ) AS kept
) AS raws
WHERE CASE WHEN raw < 0.005 THEN FALSE WHEN raw >= 99.995 THEN FALSE ELSE NOT (abs(((raw - 0.0) /
        0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) END;

SELECT grp, place, number, upto, total
FROM (
    SELECT grp,
        place,
        number,
        CAST(sum(number) OVER (PARTITION BY grp ORDER BY place ROWS UNBOUNDED PRECEDING) AS Int64)
            AS upto,
        CAST(sum(number) OVER (PARTITION BY grp) AS Int64) AS total
    FROM (
        SELECT grp, place, count(*) AS number
        FROM (
            SELECT grp, place
            FROM (
                SELECT grp,
                    place,
                    row_number() OVER (PARTITION BY unit ORDER BY lower(hex(MD5(concat(unit, ':',
                        toString(toInt128(place) + (0)), ':', toString(toInt128(grp) + (0))))))) AS
                        turn
                FROM (
                    SELECT grp,
                        unit,
                        CAST(CASE WHEN CASE WHEN raw < 0.005 THEN FALSE WHEN raw >= 99.995 THEN
                            FALSE ELSE NOT (abs(((raw - 0.0) / 0.01) - floor(((raw - 0.0) / 0.01) +
                            0.5)) < 0.49999999999111644) END THEN sought ELSE CAST(CASE WHEN raw <
                            0.005 THEN 0.0 WHEN raw >= 99.995 THEN 10000.0 WHEN (abs(((raw - 0.0) /
                            0.01) - floor(((raw - 0.0) / 0.01) + 0.5)) < 0.49999999999111644) THEN
                            floor(((raw - 0.0) / 0.01) + 0.5) ELSE floor(((raw - 0.0) / 0.01)) + 0.5
                            END AS Int64) END AS Int64) AS place
                    FROM (
                        SELECT cell AS raw, grp, unit
                        FROM (
                            SELECT cell, 0 AS grp, unit
                            FROM (
                                SELECT toFloat64(`tip`) AS cell,
                                    (CASE WHEN length(CASE WHEN isValidUTF8(toString(`rider`)) THEN
                                        toString(`rider`) END) <= 40000 THEN CASE WHEN lengthUTF8(CASE
                                        WHEN isValidUTF8(toString(`rider`)) THEN toString(`rider`)
                                        END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`rider`))
                                        THEN toString(`rider`) END END END) AS unit
                                FROM `default`.`trips`
                            ) AS cells
                            WHERE (cell IS NOT NULL AND NOT isNaN(cell)) AND unit IS NOT NULL
                        ) AS kept
                    ) AS raws
                        LEFT JOIN (
                        VALUES (12.345, 1235)
                    ) AS doubts(cell, sought) ON raw = cell
                ) AS numbered
            ) AS turns
            WHERE turn <= 3
        ) AS bounded
        GROUP BY grp, place
    ) AS counted
) AS ranked
WHERE (upto >= 0.5 * total - 54 AND upto - number <= 0.5 * total + 54);
