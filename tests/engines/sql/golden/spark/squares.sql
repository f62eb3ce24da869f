SELECT grp,
    count(*) AS n,
    CAST(sum(CAST(place AS DECIMAL(20,0))) DIV CAST(281474976710656 AS DECIMAL(20,0)) AS BIGINT) AS
        high,
    CAST(sum(CAST(place AS DECIMAL(20,0))) % CAST(281474976710656 AS DECIMAL(20,0)) AS BIGINT) AS
        low,
    CAST(sum(CAST((place * place) AS DECIMAL(20,0))) DIV CAST(281474976710656 AS DECIMAL(20,0)) AS
        BIGINT) AS high1,
    CAST(sum(CAST((place * place) AS DECIMAL(20,0))) % CAST(281474976710656 AS DECIMAL(20,0)) AS
        BIGINT) AS low1
FROM (
    SELECT grp,
        CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END AS BIGINT)
            AS place
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, keys0.number * 1 AS grp
            FROM (
                SELECT CAST(`fare` AS BIGINT) AS cell,
                    (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                        char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END
                        END) AS key0
                FROM {source}
            ) AS cells
                JOIN (
                VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1), (CAST(X'426f64c3b8'
                        AS STRING), 2)
            ) AS keys0(name, number) ON key0 = keys0.name
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
