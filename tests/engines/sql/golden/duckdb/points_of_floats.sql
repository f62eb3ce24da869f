SELECT grp, bucket, number
FROM (
    SELECT grp, generate_subscripts(numbers, 1) - 1 AS bucket, unnest(numbers) AS number
    FROM (
        SELECT 0 AS grp, map_values(histogram(raw, (SELECT
                '[0.995, 1.9949999999999999, 2.9949999999999997, 3.9949999999999997, 4.994999999999999, 5.994999999999999, 6.994999999999999, 7.994999999999999, 8.995]'::DOUBLE[])))
                AS numbers
        FROM (
            SELECT cell AS raw, grp
            FROM (
                SELECT cell, 0 AS grp
                FROM (
                    SELECT CAST("tip" AS DOUBLE) AS cell
                    FROM "taxis"."main"."trips"
                ) AS cells
                WHERE (isfinite(cell) OR isinf(cell))
            ) AS kept
        ) AS raws
    ) AS counted
) AS buckets
WHERE number > 0;
