SELECT grp,
    count(*) AS n,
    CAST(intDiv(sum(toInt128(place)), 281474976710656) AS Int64) AS high,
    CAST(sum(toInt128(place)) % 281474976710656 AS Int64) AS low
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
