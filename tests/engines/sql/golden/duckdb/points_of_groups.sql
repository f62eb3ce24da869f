SELECT grp, bucket, number
FROM (
    SELECT grp, generate_subscripts(numbers, 1) - 1 AS bucket, unnest(numbers) AS number
    FROM (
        SELECT grp,
            map_values(histogram(raw, (SELECT '[0, 1, 3, 7, 15, 31, 63]'::BIGINT[]))) AS numbers
        FROM (
            SELECT cell AS raw, grp
            FROM (
                SELECT cell, keys0.number * 1 AS grp
                FROM (
                    SELECT CAST("fare" AS BIGINT) AS cell,
                        (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN
                            (CAST("city" AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
                    FROM "taxis"."main"."trips"
                ) AS cells
                    JOIN (
                    SELECT unnest([(('Oslo') COLLATE "binary"), (('Bergen') COLLATE "binary"), (('Bodø')
                            COLLATE "binary")]) AS name,
                        unnest(number::BIGINT[]) AS number
                    FROM (
                        VALUES ('[0, 1, 2]')
                    ) AS texts(number)
                ) AS keys0 ON key0 = keys0.name
                WHERE cell IS NOT NULL
            ) AS kept
        ) AS raws
        GROUP BY grp
    ) AS counted
) AS buckets
WHERE number > 0;
