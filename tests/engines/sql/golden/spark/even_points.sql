SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CASE WHEN raw < CAST(500 AS BIGINT) THEN CASE WHEN raw < CAST(300 AS BIGINT) THEN CASE
            WHEN raw < CAST(200 AS BIGINT) THEN CASE WHEN raw < CAST(100 AS BIGINT) THEN 0 ELSE 1
            END ELSE 2 END ELSE CASE WHEN raw < CAST(400 AS BIGINT) THEN 3 ELSE 4 END END ELSE CASE
            WHEN raw < CAST(800 AS BIGINT) THEN CASE WHEN raw < CAST(700 AS BIGINT) THEN CASE WHEN
            raw < CAST(600 AS BIGINT) THEN 5 ELSE 6 END ELSE 7 END ELSE CASE WHEN raw < CAST(900 AS
            BIGINT) THEN 8 ELSE 9 END END END AS bucket
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT CAST(`fare` AS BIGINT) AS cell
                FROM {source}
                WHERE (coalesce(((((CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN
                        CASE WHEN char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS
                        STRING) END END)) = CAST(X'4f736c6f' AS STRING)) AND ((CAST(unix_date(`day`)
                        AS BIGINT)) >= (19723))), FALSE))
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS placed
GROUP BY bucket;
