SELECT grp, bucket, number
FROM (
    SELECT grp, generate_subscripts(numbers, 1) - 1 AS bucket, unnest(numbers) AS number
    FROM (
        SELECT 0 AS grp,
            map_values(histogram(raw, (SELECT '[0, 1, 3, 7, 15, 31, 63]'::BIGINT[]))) AS numbers
        FROM (
            SELECT cell AS raw, grp
            FROM (
                SELECT cell, 0 AS grp
                FROM (
                    SELECT CAST("fare" AS BIGINT) AS cell
                    FROM "taxis"."main"."trips"
                ) AS cells
                WHERE cell IS NOT NULL
            ) AS kept
        ) AS raws
    ) AS counted
) AS buckets
WHERE number > 0;
