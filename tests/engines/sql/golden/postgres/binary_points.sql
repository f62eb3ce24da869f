SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT width_bucket(cell, ARRAY[CAST(64 AS bigint), CAST(128 AS bigint), CAST(192 AS bigint),
            CAST(256 AS bigint), CAST(320 AS bigint), CAST(384 AS bigint), CAST(448 AS bigint), CAST(512
            AS bigint), CAST(576 AS bigint), CAST(640 AS bigint), CAST(704 AS bigint), CAST(768 AS
            bigint), CAST(832 AS bigint), CAST(896 AS bigint), CAST(960 AS bigint)]) AS bucket
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
