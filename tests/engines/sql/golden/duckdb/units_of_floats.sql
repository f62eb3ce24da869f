SELECT DISTINCT raw
FROM (
    SELECT cell AS raw, grp, unit
    FROM (
        SELECT cell, 0 AS grp, unit
        FROM (
            SELECT CAST("tip" AS DOUBLE) AS cell,
                (CASE WHEN length((CAST("rider" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("rider"
                    AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS unit
            FROM "taxis"."main"."trips"
        ) AS cells
        WHERE (isfinite(cell) OR isinf(cell)) AND unit IS NOT NULL
    ) AS kept
) AS raws
WHERE CASE WHEN raw < '0.005'::DOUBLE THEN FALSE WHEN raw >= '99.995'::DOUBLE THEN FALSE ELSE NOT (abs(((raw
        - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE))
        < '0.49999999999111644'::DOUBLE) END;

SELECT grp, place, number, upto, total
FROM (
    SELECT grp,
        place,
        number,
        CAST(sum(number) OVER (PARTITION BY grp ORDER BY place ROWS UNBOUNDED PRECEDING) AS BIGINT)
            AS upto,
        CAST(sum(number) OVER (PARTITION BY grp) AS BIGINT) AS total
    FROM (
        SELECT grp, place, count(*) AS number
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
                        CAST(CASE WHEN CASE WHEN raw < '0.005'::DOUBLE THEN FALSE WHEN raw >=
                            '99.995'::DOUBLE THEN FALSE ELSE NOT (abs(((raw - '0.0'::DOUBLE) /
                            '0.01'::DOUBLE) - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE))
                            < '0.49999999999111644'::DOUBLE) END THEN sought ELSE CAST(CASE WHEN raw
                            < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE THEN
                            '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) -
                            floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) <
                            '0.49999999999111644'::DOUBLE) THEN floor(((raw - '0.0'::DOUBLE) /
                            '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE) /
                            '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) END AS BIGINT) AS place
                    FROM (
                        SELECT cell AS raw, grp, unit
                        FROM (
                            SELECT cell, 0 AS grp, unit
                            FROM (
                                SELECT CAST("tip" AS DOUBLE) AS cell,
                                    (CASE WHEN length((CAST("rider" AS VARCHAR) COLLATE "binary"))
                                        <= 10000 THEN (CAST("rider" AS VARCHAR) COLLATE "binary")
                                        END COLLATE "binary") AS unit
                                FROM "taxis"."main"."trips"
                            ) AS cells
                            WHERE (isfinite(cell) OR isinf(cell)) AND unit IS NOT NULL
                        ) AS kept
                    ) AS raws
                        LEFT JOIN (
                        VALUES ('12.345'::DOUBLE, 1235)
                    ) AS doubts(cell, sought) ON raw = cell
                ) AS numbered
            ) AS turns
            WHERE turn <= 3
        ) AS bounded
        GROUP BY grp, place
    ) AS counted
) AS ranked
WHERE (upto >= 0.5 * total - 54 AND upto - number <= 0.5 * total + 54);
