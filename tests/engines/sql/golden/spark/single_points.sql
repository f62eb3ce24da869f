SELECT 0 AS grp, part, count(*) AS number
FROM (
    SELECT (place DIV 1) AS part
    FROM (
        SELECT CASE WHEN spot >= 128 AND spot < 448 THEN spot - 128 END AS place
        FROM (
            SELECT CAST(raw AS BIGINT) AS spot
            FROM (
                SELECT cell AS raw, grp
                FROM (
                    SELECT cell, 0 AS grp
                    FROM (
                        SELECT CAST(`fare` AS BIGINT) AS cell
                        FROM {source}
                    ) AS cells
                    WHERE cell IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS spots
        WHERE spot >= 128 AND spot < 448
    ) AS placed
        JOIN (
        VALUES (CAST(0 AS BIGINT)), (CAST(3 AS BIGINT)), (CAST(4 AS BIGINT))
    ) AS stretches(number) ON (place DIV 64) = stretches.number
) AS parts
GROUP BY part;
