SELECT grp,
    count(*) AS n,
    CAST(div(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END
        THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS high,
    CAST(mod(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END
        THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS low,
    CAST(div(sum(CASE WHEN place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END
        THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS high1,
    CAST(mod(sum(CASE WHEN place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END
        THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS low1,
    CAST(div(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END OR
        place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN CAST(0 AS bigint)
        ELSE CAST((place - CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END) AS bigint)
        END), 281474976710656) AS bigint) AS high2,
    CAST(mod(sum(CASE WHEN place <= CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END OR
        place >= CASE grp WHEN 0 THEN 900 WHEN 1 THEN 800 WHEN 2 THEN 700 END THEN CAST(0 AS bigint)
        ELSE CAST((place - CASE grp WHEN 0 THEN 100 WHEN 1 THEN 200 WHEN 2 THEN 300 END) AS bigint)
        END), 281474976710656) AS bigint) AS low2
FROM (
    SELECT grp,
        CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END AS bigint)
            AS place
    FROM (
        SELECT CAST(cell AS bigint) AS raw, grp
        FROM (
            SELECT cell, keys0.number * 1 AS grp
            FROM (
                SELECT "fare" AS cell,
                    (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE
                        WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city"
                        AS text) COLLATE "C") END END COLLATE "C") AS key0
                FROM "public"."trips"
            ) AS cells
                JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text)
                    COLLATE "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name,
                    number) ON key0 = keys0.name
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
