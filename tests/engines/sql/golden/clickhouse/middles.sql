SELECT grp,
    count(*) AS n,
    CAST(intDiv(sum(toInt128(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN
        300 END THEN 1 ELSE 0 END)), 281474976710656) AS Int64) AS high,
    CAST(sum(toInt128(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300
        END THEN 1 ELSE 0 END)) % 281474976710656 AS Int64) AS low,
    CAST(intDiv(sum(toInt128(CASE WHEN place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN
        700 END THEN 1 ELSE 0 END)), 281474976710656) AS Int64) AS high1,
    CAST(sum(toInt128(CASE WHEN place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700
        END THEN 1 ELSE 0 END)) % 281474976710656 AS Int64) AS low1,
    CAST(intDiv(sum(toInt128(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN
        300 END OR place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN CAST(0
        AS Int64) ELSE CAST((place - CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END)
        AS Int64) END)), 281474976710656) AS Int64) AS high2,
    CAST(sum(toInt128(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300
        END OR place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN CAST(0 AS
        Int64) ELSE CAST((place - CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END) AS
        Int64) END)) % 281474976710656 AS Int64) AS low2
FROM (
    SELECT grp,
        CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END AS Int64)
            AS place
    FROM (
        SELECT cell AS raw, grp
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
                    SELECT arrayJoin(arrayZip([unhex('4f736c6f'), unhex('42657267656e'), unhex('426f64c3b8')],
                            [0, 1, 2])) AS listed
                )
            ) AS keys0 ON key0 = keys0.name
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
