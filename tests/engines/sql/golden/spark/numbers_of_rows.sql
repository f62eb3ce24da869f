SELECT grp, count(*) AS n
FROM (
    SELECT cell, keys0.number * 1 AS grp
    FROM (
        SELECT CAST(`fare` AS BIGINT) AS cell,
            (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN char_length(CAST(`city`
                AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END END) AS key0
        FROM {source}
        WHERE (coalesce(((((CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END END)) =
                CAST(X'4f736c6f' AS STRING)) AND ((CAST(unix_date(`day`) AS BIGINT)) >= (19723))),
                FALSE))
    ) AS cells
        JOIN (
        VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1), (CAST(X'426f64c3b8'
                AS STRING), 2)
    ) AS keys0(name, number) ON key0 = keys0.name
    WHERE cell IS NOT NULL
) AS kept
GROUP BY grp;
