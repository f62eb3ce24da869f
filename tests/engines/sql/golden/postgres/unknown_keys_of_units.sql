SELECT convert_to(name, 'UTF8') AS sent, count(*) AS n
FROM (
    SELECT name
    FROM (
        SELECT name,
            row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || (CAST(E'' AS text)
                COLLATE "C") || ':' || name))) AS turn
        FROM (
            SELECT key0 AS name, unit
            FROM (
                SELECT (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN
                        CASE WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city"
                        AS text) COLLATE "C") END END COLLATE "C") AS key0,
                    (CASE WHEN octet_length((CAST("rider" AS text) COLLATE "C")) <= 40000 THEN CASE
                        WHEN char_length((CAST("rider" AS text) COLLATE "C")) <= 10000 THEN (CAST("rider"
                        AS text) COLLATE "C") END END COLLATE "C") AS unit
                FROM "public"."trips"
            ) AS cells
            WHERE unit IS NOT NULL AND key0 IS NOT NULL
        ) AS named
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY name;
