SELECT grp,
    count(*) AS n,
    CAST(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END THEN 1
        ELSE 0 END) // 281474976710656 AS BIGINT) AS high,
    CAST(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END THEN 1
        ELSE 0 END) % 281474976710656 AS BIGINT) AS low,
    CAST(sum(CASE WHEN place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN 1
        ELSE 0 END) // 281474976710656 AS BIGINT) AS high1,
    CAST(sum(CASE WHEN place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN 1
        ELSE 0 END) % 281474976710656 AS BIGINT) AS low1,
    CAST(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END OR
        place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN CAST(0 AS BIGINT)
        ELSE CAST((place - CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END) AS BIGINT)
        END) // 281474976710656 AS BIGINT) AS high2,
    CAST(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END OR
        place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN CAST(0 AS BIGINT)
        ELSE CAST((place - CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END) AS BIGINT)
        END) % 281474976710656 AS BIGINT) AS low2
FROM (
    SELECT grp,
        CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END AS BIGINT)
            AS place
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, keys0.number * 1 AS grp
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell,
                    (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                        AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
                FROM "taxis"."main"."trips"
            ) AS cells
                JOIN (
                SELECT unnest([(('Oslo') COLLATE "binary"), (('Bergen') COLLATE "binary"), (('Bodø')
                        COLLATE "binary")]) AS name,
                    unnest(number::BIGINT[]) AS number
                FROM (
                    VALUES ('[0, 1, 2]')
                ) AS texts(number)
            ) AS keys0 ON key0 = keys0.name
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
