SELECT grp, count(*) AS n
FROM (
    SELECT cell, keys0.number * 1 AS grp
    FROM (
        SELECT "fare" AS cell,
            (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE WHEN
                char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city" AS text)
                COLLATE "C") END END COLLATE "C") AS key0
        FROM "public"."trips"
        WHERE (coalesce(((((CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN
                CASE WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city"
                AS text) COLLATE "C") END END COLLATE "C")) = (CAST(E'Oslo' AS text) COLLATE "C"))
                AND ((CAST(CASE WHEN "day" > DATE '9999-12-31' THEN DATE '9999-12-31' WHEN "day" <
                DATE '0001-01-01' THEN DATE '0001-01-01' ELSE "day" END - DATE '1970-01-01' AS
                bigint)) >= (19723))), FALSE))
    ) AS cells
        JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text) COLLATE "C"),
            (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name, number) ON key0 =
            keys0.name
    WHERE cell IS NOT NULL
) AS kept
GROUP BY grp;
