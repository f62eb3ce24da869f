SELECT grp, bucket, count(*) AS number
FROM (
    SELECT grp,
        if(raw < CAST(1 AS Int64), 0, transform(roundDown(raw, [CAST(1 AS Int64), CAST(2 AS Int64),
            CAST(4 AS Int64), CAST(8 AS Int64), CAST(16 AS Int64), CAST(32 AS Int64), CAST(64 AS
            Int64)]), [CAST(1 AS Int64), CAST(2 AS Int64), CAST(4 AS Int64), CAST(8 AS Int64), CAST(16
            AS Int64), CAST(32 AS Int64), CAST(64 AS Int64)], range(1, 8), 0)) AS bucket
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
) AS placed
GROUP BY grp, bucket;
