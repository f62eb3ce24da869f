SELECT name AS sent, count(*) AS n
FROM (
    SELECT key0 AS name
    FROM (
        SELECT (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN char_length(CAST(`city`
                AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END END) AS key0
        FROM {source}
        WHERE (coalesce(((((CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END END)) =
                CAST(X'4f736c6f' AS STRING)) AND ((CAST(unix_date(`day`) AS BIGINT)) >= (19723))),
                FALSE))
    ) AS cells
    WHERE key0 IS NOT NULL
) AS named
GROUP BY name;
