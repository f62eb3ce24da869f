SELECT grp, bucket, count(*) AS number
FROM (
    SELECT grp,
        width_bucket(cell, ARRAY[CAST(1 AS bigint), CAST(2 AS bigint), CAST(4 AS bigint), CAST(8 AS
            bigint), CAST(16 AS bigint), CAST(32 AS bigint), CAST(64 AS bigint)]) AS bucket
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT "fare" AS cell,
                (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE WHEN
                    char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city" AS
                    text) COLLATE "C") END END COLLATE "C") AS key0
            FROM "public"."trips"
        ) AS cells
            JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text) COLLATE
                "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name, number)
                ON key0 = keys0.name
        WHERE cell IS NOT NULL
    ) AS kept
) AS placed
GROUP BY grp, bucket;
