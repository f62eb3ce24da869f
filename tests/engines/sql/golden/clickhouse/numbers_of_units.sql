SELECT grp, count(*) AS n
FROM (
    SELECT grp, place
    FROM (
        SELECT grp,
            place,
            row_number() OVER (PARTITION BY unit ORDER BY lower(hex(MD5(concat(unit, ':', unhex(''),
                ':', toString(toInt128(grp) + (0))))))) AS turn
        FROM (
            SELECT DISTINCT grp, unit, 0 AS place
            FROM (
                SELECT keys0.number * 1 AS grp, unit
                FROM (
                    SELECT (CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`)
                            END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`))
                            THEN toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`))
                            THEN toString(`city`) END END END) AS key0,
                        (CASE WHEN length(CASE WHEN isValidUTF8(toString(`rider`)) THEN toString(`rider`)
                            END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`rider`))
                            THEN toString(`rider`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`rider`))
                            THEN toString(`rider`) END END END) AS unit
                    FROM `default`.`trips`
                    WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`))
                            THEN toString(`city`) END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN
                            isValidUTF8(toString(`city`)) THEN toString(`city`) END) <= 10000 THEN
                            CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END END
                            END)) = unhex('4f736c6f')) AND ((toInt64(`day`)) >= (19723))), FALSE))
                ) AS cells
                    JOIN (
                    SELECT listed.1 AS name, listed.2 AS number
                    FROM (
                        SELECT arrayJoin(arrayZip([unhex('4f736c6f'), unhex('42657267656e'), unhex('426f64c3b8')],
                                [0, 1, 2])) AS listed
                    )
                ) AS keys0 ON key0 = keys0.name
                WHERE unit IS NOT NULL
            ) AS kept
        ) AS numbered
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY grp;
