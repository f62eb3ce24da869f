SELECT 0 AS grp, part, count(*) AS number
FROM (
    SELECT (CAST(place AS bigint) / 8) AS part
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
                        WHERE (coalesce(((((CASE WHEN octet_length((CAST("city" AS text) COLLATE "C"))
                                <= 40000 THEN CASE WHEN char_length((CAST("city" AS text) COLLATE
                                "C")) <= 10000 THEN (CAST("city" AS text) COLLATE "C") END END
                                COLLATE "C")) = (CAST(E'Oslo' AS text) COLLATE "C")) AND ((CAST(CASE
                                WHEN "day" > DATE '9999-12-31' THEN DATE '9999-12-31' WHEN "day" <
                                DATE '0001-01-01' THEN DATE '0001-01-01' ELSE "day" END - DATE
                                '1970-01-01' AS bigint)) >= (19723))), FALSE))
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
