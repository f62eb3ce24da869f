SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CAST(CASE WHEN raw < CAST(100 AS BIGINT) THEN 0 WHEN raw >= CAST(900 AS BIGINT) THEN 9
            ELSE ((raw - CAST(100 AS BIGINT)) DIV 100) + 1 END AS BIGINT) AS bucket
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
