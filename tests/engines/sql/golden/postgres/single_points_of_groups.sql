SELECT grp, part, count(*) AS number
FROM (
    SELECT grp, (CAST(place AS bigint) / 1) AS part
    FROM (
        SELECT grp, CASE WHEN spot >= 128 AND spot < 448 THEN spot - 128 END AS place
        FROM (
            SELECT grp, CAST(raw AS bigint) AS spot
            FROM (
                SELECT CAST(cell AS bigint) AS raw, grp
                FROM (
                    SELECT cell, keys0.number * 1 AS grp
                    FROM (
                        SELECT "fare" AS cell,
                            (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000
                                THEN CASE WHEN char_length((CAST("city" AS text) COLLATE "C")) <=
                                10000 THEN (CAST("city" AS text) COLLATE "C") END END COLLATE "C")
                                AS key0
                        FROM "public"."trips"
                    ) AS cells
                        JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS
                            text) COLLATE "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2])
                            AS keys0(name, number) ON key0 = keys0.name
                    WHERE cell IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS spots
        WHERE spot >= 128 AND spot < 448
    ) AS placed
        JOIN unnest(ARRAY[CAST(0 AS bigint), CAST(3 AS bigint), CAST(4 AS bigint)]) AS stretches(number)
            ON (CAST(place AS bigint) / 64) = stretches.number
) AS parts
GROUP BY grp, part;
