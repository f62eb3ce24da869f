SELECT name AS sent, count(*) AS n
FROM (
    SELECT key0 AS name
    FROM (
        SELECT (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
        FROM "taxis"."main"."trips"
        WHERE (coalesce(((((CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000
                THEN (CAST("city" AS VARCHAR) COLLATE "binary") END COLLATE "binary")) = (('Oslo')
                COLLATE "binary")) AND ((date_diff('day', DATE '1970-01-01', CASE WHEN "day" > DATE
                '9999-12-31' THEN DATE '9999-12-31' WHEN "day" < DATE '0001-01-01' THEN DATE
                '0001-01-01' ELSE "day" END)) >= (19723))), FALSE))
    ) AS cells
    WHERE key0 IS NOT NULL
) AS named
GROUP BY name;
