SELECT grp, count(*) AS n
FROM (
    SELECT grp, place
    FROM (
        SELECT grp,
            place,
            row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || (CAST(E'' AS text)
                COLLATE "C") || ':' || CAST(CAST(grp AS numeric) + 0 AS text)))) AS turn
        FROM (
            SELECT DISTINCT grp, unit, 0 AS place
            FROM (
                SELECT keys0.number * 1 AS grp, unit
                FROM (
                    SELECT (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN
                            CASE WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN
                            (CAST("city" AS text) COLLATE "C") END END COLLATE "C") AS key0,
                        (CASE WHEN octet_length((CAST("rider" AS text) COLLATE "C")) <= 40000 THEN
                            CASE WHEN char_length((CAST("rider" AS text) COLLATE "C")) <= 10000 THEN
                            (CAST("rider" AS text) COLLATE "C") END END COLLATE "C") AS unit
                    FROM "public"."trips"
                    WHERE (coalesce(((((CASE WHEN octet_length((CAST("city" AS text) COLLATE "C"))
                            <= 40000 THEN CASE WHEN char_length((CAST("city" AS text) COLLATE "C"))
                            <= 10000 THEN (CAST("city" AS text) COLLATE "C") END END COLLATE "C")) =
                            (CAST(E'Oslo' AS text) COLLATE "C")) AND ((CAST(CASE WHEN "day" > DATE
                            '9999-12-31' THEN DATE '9999-12-31' WHEN "day" < DATE '0001-01-01' THEN
                            DATE '0001-01-01' ELSE "day" END - DATE '1970-01-01' AS bigint)) >= (19723))),
                            FALSE))
                ) AS cells
                    JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text)
                        COLLATE "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name,
                        number) ON key0 = keys0.name
                WHERE unit IS NOT NULL
            ) AS kept
        ) AS numbered
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY grp;
