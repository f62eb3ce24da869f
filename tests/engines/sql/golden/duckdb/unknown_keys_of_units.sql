SELECT name AS sent, count(*) AS n
FROM (
    SELECT name
    FROM (
        SELECT name,
            row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || (('') COLLATE "binary")
                || ':' || name))) AS turn
        FROM (
            SELECT key0 AS name, unit
            FROM (
                SELECT (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                        AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0,
                    (CASE WHEN length((CAST("rider" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("rider"
                        AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS unit
                FROM "taxis"."main"."trips"
            ) AS cells
            WHERE unit IS NOT NULL AND key0 IS NOT NULL
        ) AS named
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY name;
