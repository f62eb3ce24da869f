SELECT grp, bucket, number
FROM (
    SELECT grp, generate_subscripts(numbers, 1) - 1 AS bucket, unnest(numbers) AS number
    FROM (
        SELECT 0 AS grp,
            map_values(histogram(place, (SELECT '[0, 1, 3, 7, 15, 31, 63]'::BIGINT[]))) AS numbers
        FROM (
            SELECT grp, place
            FROM (
                SELECT grp,
                    place,
                    row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || CAST(CAST(place
                        AS HUGEINT) + 0 AS VARCHAR) || ':' || CAST(CAST(grp AS HUGEINT) + 0 AS
                        VARCHAR)))) AS turn
                FROM (
                    SELECT grp,
                        unit,
                        CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw
                            END END AS BIGINT) AS place
                    FROM (
                        SELECT cell AS raw, grp, unit
                        FROM (
                            SELECT cell, 0 AS grp, unit
                            FROM (
                                SELECT CAST("fare" AS BIGINT) AS cell,
                                    (CASE WHEN length((CAST("rider" AS VARCHAR) COLLATE "binary"))
                                        <= 10000 THEN (CAST("rider" AS VARCHAR) COLLATE "binary")
                                        END COLLATE "binary") AS unit
                                FROM "taxis"."main"."trips"
                            ) AS cells
                            WHERE cell IS NOT NULL AND unit IS NOT NULL
                        ) AS kept
                    ) AS raws
                ) AS numbered
            ) AS turns
            WHERE turn <= 3
        ) AS bounded
    ) AS counted
) AS buckets
WHERE number > 0;
