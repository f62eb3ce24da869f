SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT width_bucket(cell, ARRAY[CAST(1 AS bigint), CAST(2 AS bigint), CAST(4 AS bigint), CAST(8
            AS bigint), CAST(16 AS bigint), CAST(32 AS bigint), CAST(64 AS bigint)]) AS bucket
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT "fare" AS cell
            FROM "public"."trips"
        ) AS cells
        WHERE cell IS NOT NULL
    ) AS kept
) AS placed
GROUP BY bucket;
