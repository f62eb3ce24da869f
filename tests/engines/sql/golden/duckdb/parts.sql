SELECT 0 AS grp, part, count(*) AS number
FROM (
    SELECT (place // 8) AS part
    FROM (
        SELECT CASE WHEN spot >= 128 AND spot < 448 THEN spot - 128 END AS place
        FROM (
            SELECT CAST(raw AS BIGINT) AS spot
            FROM (
                SELECT cell AS raw, grp
                FROM (
                    SELECT cell, 0 AS grp
                    FROM (
                        SELECT CAST("fare" AS BIGINT) AS cell
                        FROM "taxis"."main"."trips"
                        WHERE (coalesce(((((CASE WHEN length((CAST("city" AS VARCHAR) COLLATE
                                "binary")) <= 10000 THEN (CAST("city" AS VARCHAR) COLLATE "binary")
                                END COLLATE "binary")) = (('Oslo') COLLATE "binary")) AND ((date_diff('day',
                                DATE '1970-01-01', CASE WHEN "day" > DATE '9999-12-31' THEN DATE
                                '9999-12-31' WHEN "day" < DATE '0001-01-01' THEN DATE '0001-01-01'
                                ELSE "day" END)) >= (19723))), FALSE))
                    ) AS cells
                    WHERE cell IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS spots
        WHERE spot >= 128 AND spot < 448
    ) AS placed
        JOIN (
        SELECT unnest(number::BIGINT[]) AS number
        FROM (
            VALUES ('[0, 3, 4]')
        ) AS texts(number)
    ) AS stretches ON (place // 64) = stretches.number
) AS parts
GROUP BY part;
