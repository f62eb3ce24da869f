SELECT name AS sent, count(*) AS n
FROM (
    SELECT name
    FROM (
        SELECT name,
            row_number() OVER (PARTITION BY unit ORDER BY md5(CAST(concat_ws(':', unit, CAST(X'' AS
                STRING), name) AS BINARY))) AS turn
        FROM (
            SELECT key0 AS name, unit
            FROM (
                SELECT (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                        char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END
                        END) AS key0,
                    (CASE WHEN octet_length(CAST(`rider` AS STRING)) <= 40000 THEN CASE WHEN
                        char_length(CAST(`rider` AS STRING)) <= 10000 THEN CAST(`rider` AS STRING)
                        END END) AS unit
                FROM {source}
            ) AS cells
            WHERE unit IS NOT NULL AND key0 IS NOT NULL
        ) AS named
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY name;
