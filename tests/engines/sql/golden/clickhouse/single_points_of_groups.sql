SELECT grp, part, count(*) AS number
FROM (
    SELECT grp, intDiv(place, 1) AS part
    FROM (
        SELECT grp, CASE WHEN spot >= 128 AND spot < 448 THEN spot - 128 END AS place
        FROM (
            SELECT grp, CAST(raw AS Int64) AS spot
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
                            SELECT arrayJoin(arrayZip([unhex('4f736c6f'), unhex('42657267656e'),
                                    unhex('426f64c3b8')], [0, 1, 2])) AS listed
                        )
                    ) AS keys0 ON key0 = keys0.name
                    WHERE cell IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS spots
        WHERE spot >= 128 AND spot < 448
    ) AS placed
        JOIN (
        SELECT listed.1 AS number
        FROM (
            SELECT arrayJoin(arrayZip([CAST(0 AS Int64), CAST(3 AS Int64), CAST(4 AS Int64)])) AS
                    listed
        )
    ) AS stretches ON intDiv(place, 64) = stretches.number
) AS parts
GROUP BY grp, part;
