SELECT grp, count(*) AS n
FROM (
    SELECT grp, place
    FROM (
        SELECT grp,
            place,
            row_number() OVER (PARTITION BY unit ORDER BY md5(CAST(concat_ws(':', unit, CAST(X'' AS
                STRING), CAST(CAST(grp AS DECIMAL(38,0)) + CAST(0 AS DECIMAL(20,0)) AS STRING)) AS
                BINARY))) AS turn
        FROM (
            SELECT DISTINCT grp, unit, 0 AS place
            FROM (
                SELECT keys0.number * 1 AS grp, unit
                FROM (
                    SELECT (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                            char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS STRING)
                            END END) AS key0,
                        (CASE WHEN octet_length(CAST(`rider` AS STRING)) <= 40000 THEN CASE WHEN
                            char_length(CAST(`rider` AS STRING)) <= 10000 THEN CAST(`rider` AS
                            STRING) END END) AS unit
                    FROM {source}
                    WHERE (coalesce(((((CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN
                            CASE WHEN char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city`
                            AS STRING) END END)) = CAST(X'4f736c6f' AS STRING)) AND ((CAST(unix_date(`day`)
                            AS BIGINT)) >= (19723))), FALSE))
                ) AS cells
                    JOIN (
                    VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1), (CAST(X'426f64c3b8'
                            AS STRING), 2)
                ) AS keys0(name, number) ON key0 = keys0.name
                WHERE unit IS NOT NULL
            ) AS kept
        ) AS numbered
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY grp;
