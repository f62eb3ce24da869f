SELECT grp,
    count(*) AS n,
    CAST(div(sum(place), 281474976710656) AS bigint) AS high,
    CAST(mod(sum(place), 281474976710656) AS bigint) AS low,
    CAST(div(sum((place * place)), 281474976710656) AS bigint) AS high1,
    CAST(mod(sum((place * place)), 281474976710656) AS bigint) AS low1
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
