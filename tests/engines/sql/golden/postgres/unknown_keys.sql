SELECT convert_to(name, 'UTF8') AS sent, count(*) AS n
FROM (
    SELECT key0 AS name
    FROM (
        SELECT (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE WHEN
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
    WHERE key0 IS NOT NULL
) AS named
GROUP BY name;
