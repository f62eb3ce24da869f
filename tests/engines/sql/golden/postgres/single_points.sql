SELECT 0 AS grp, part, count(*) AS number
FROM (
    SELECT (CAST(place AS bigint) / 1) AS part
    FROM (
        SELECT CASE WHEN spot >= 128 AND spot < 448 THEN spot - 128 END AS place
        FROM (
            SELECT CAST(raw AS bigint) AS spot
            FROM (
                SELECT CAST(cell AS bigint) AS raw, grp
                FROM (
                    SELECT cell, 0 AS grp
                    FROM (
                        SELECT "fare" AS cell
                        FROM "public"."trips"
                    ) AS cells
                    WHERE cell IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS spots
        WHERE spot >= 128 AND spot < 448
    ) AS placed
        JOIN unnest(ARRAY[CAST(0 AS bigint), CAST(3 AS bigint), CAST(4 AS bigint)]) AS stretches(number)
            ON (CAST(place AS bigint) / 64) = stretches.number
) AS parts
GROUP BY part;
