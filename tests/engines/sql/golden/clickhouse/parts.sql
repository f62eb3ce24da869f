SELECT 0 AS grp, part, count(*) AS number
FROM (
    SELECT intDiv(place, 8) AS part
    FROM (
        SELECT CASE WHEN spot >= 128 AND spot < 448 THEN spot - 128 END AS place
        FROM (
            SELECT CAST(raw AS Int64) AS spot
            FROM (
                SELECT cell AS raw, grp
                FROM (
                    SELECT cell, 0 AS grp
                    FROM (
                        SELECT toInt64(`fare`) AS cell
                        FROM `default`.`trips`
                        WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`))
                                THEN toString(`city`) END) <= 40000 THEN CASE WHEN lengthUTF8(CASE
                                WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END) <=
                                10000 THEN CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`)
                                END END END)) = unhex('4f736c6f')) AND ((toInt64(`day`)) >= (19723))),
                                FALSE))
                    ) AS cells
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
GROUP BY part;
