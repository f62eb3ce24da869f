SELECT name AS sent, count(*) AS n
FROM (
    SELECT name
    FROM (
        SELECT name,
            row_number() OVER (PARTITION BY unit ORDER BY lower(hex(MD5(concat(unit, ':', unhex(''),
                ':', name))))) AS turn
        FROM (
            SELECT key0 AS name, unit
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
            ) AS cells
            WHERE unit IS NOT NULL AND key0 IS NOT NULL
        ) AS named
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY name;
