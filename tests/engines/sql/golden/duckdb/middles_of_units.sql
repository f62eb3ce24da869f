SELECT 0 AS grp,
    count(*) AS n,
    coalesce(CAST(sum(CASE WHEN place <= (100) THEN 1 ELSE 0 END) // 281474976710656 AS BIGINT), 0)
        AS high,
    coalesce(CAST(sum(CASE WHEN place <= (100) THEN 1 ELSE 0 END) % 281474976710656 AS BIGINT), 0)
        AS low,
    coalesce(CAST(sum(CASE WHEN place >= (900) THEN 1 ELSE 0 END) // 281474976710656 AS BIGINT), 0)
        AS high1,
    coalesce(CAST(sum(CASE WHEN place >= (900) THEN 1 ELSE 0 END) % 281474976710656 AS BIGINT), 0)
        AS low1,
    coalesce(CAST(sum(CASE WHEN place <= (100) OR place >= (900) THEN CAST(0 AS BIGINT) ELSE CAST((place
        - (100)) AS BIGINT) END) // 281474976710656 AS BIGINT), 0) AS high2,
    coalesce(CAST(sum(CASE WHEN place <= (100) OR place >= (900) THEN CAST(0 AS BIGINT) ELSE CAST((place
        - (100)) AS BIGINT) END) % 281474976710656 AS BIGINT), 0) AS low2
FROM (
    SELECT grp, place
    FROM (
        SELECT grp,
            place,
            row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || CAST(CAST(place AS
                HUGEINT) + 0 AS VARCHAR) || ':' || CAST(CAST(grp AS HUGEINT) + 0 AS VARCHAR)))) AS
                turn
        FROM (
            SELECT grp,
                unit,
                CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END
                    AS BIGINT) AS place
            FROM (
                SELECT cell AS raw, grp, unit
                FROM (
                    SELECT cell, 0 AS grp, unit
                    FROM (
                        SELECT CAST("fare" AS BIGINT) AS cell,
                            (CASE WHEN length((CAST("rider" AS VARCHAR) COLLATE "binary")) <= 10000
                                THEN (CAST("rider" AS VARCHAR) COLLATE "binary") END COLLATE
                                "binary") AS unit
                        FROM "taxis"."main"."trips"
                    ) AS cells
                    WHERE cell IS NOT NULL AND unit IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS numbered
    ) AS turns
    WHERE turn <= 3
) AS bounded;
