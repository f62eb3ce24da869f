SELECT 0 AS grp,
    count(*) AS n,
    coalesce(CAST(intDiv(sum(toInt128(place)), 281474976710656) AS Int64), 0) AS high,
    coalesce(CAST(sum(toInt128(place)) % 281474976710656 AS Int64), 0) AS low
FROM (
    SELECT grp, place
    FROM (
        SELECT grp,
            place,
            row_number() OVER (PARTITION BY unit ORDER BY lower(hex(MD5(concat(unit, ':', toString(toInt128(place)
                + (0)), ':', toString(toInt128(grp) + (0))))))) AS turn
        FROM (
            SELECT grp,
                unit,
                CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END
                    AS Int64) AS place
            FROM (
                SELECT cell AS raw, grp, unit
                FROM (
                    SELECT cell, 0 AS grp, unit
                    FROM (
                        SELECT toInt64(`fare`) AS cell,
                            (CASE WHEN length(CASE WHEN isValidUTF8(toString(`rider`)) THEN toString(`rider`)
                                END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`rider`))
                                THEN toString(`rider`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`rider`))
                                THEN toString(`rider`) END END END) AS unit
                        FROM `default`.`trips`
                    ) AS cells
                    WHERE cell IS NOT NULL AND unit IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS numbered
    ) AS turns
    WHERE turn <= 3
) AS bounded;
