SELECT grp, place, count(*) AS number
FROM (
    SELECT grp, CAST(raw AS BIGINT) AS spot
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
) AS spots
    JOIN (
    SELECT unnest(range(first, first + 64)) AS spot,
        CAST(unnest(range(line * 64, (line + 1) * 64)) AS USMALLINT) AS place
    FROM (
        SELECT unnest(firsts::BIGINT[]) AS first, unnest(range(3)) AS line
        FROM (
            VALUES ('[128, 320, 384]')
        ) AS texts(firsts)
    ) AS stretches
) AS places USING (spot)
GROUP BY grp, place;
