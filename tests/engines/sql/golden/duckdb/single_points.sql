SELECT 0 AS grp, place, count(*) AS number
FROM (
    SELECT CAST(raw AS BIGINT) AS spot
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell
                FROM "taxis"."main"."trips"
            ) AS cells
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
GROUP BY place;
