SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT width_bucket(cell, ARRAY[CAST(100 AS bigint), CAST(200 AS bigint), CAST(300 AS bigint),
            CAST(400 AS bigint), CAST(500 AS bigint), CAST(600 AS bigint), CAST(700 AS bigint), CAST(800
            AS bigint), CAST(900 AS bigint)]) AS bucket
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT "fare" AS cell
            FROM "public"."trips"
            WHERE (coalesce(((((CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000
                    THEN CASE WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city"
                    AS text) COLLATE "C") END END COLLATE "C")) = (CAST(E'Oslo' AS text) COLLATE "C"))
                    AND ((CAST(CASE WHEN "day" > DATE '9999-12-31' THEN DATE '9999-12-31' WHEN "day"
                    < DATE '0001-01-01' THEN DATE '0001-01-01' ELSE "day" END - DATE '1970-01-01' AS
                    bigint)) >= (19723))), FALSE))
        ) AS cells
        WHERE cell IS NOT NULL
    ) AS kept
) AS placed
GROUP BY bucket;
