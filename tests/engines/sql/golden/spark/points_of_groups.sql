SELECT grp, bucket, count(*) AS number
FROM (
    SELECT grp,
        CASE WHEN raw < CAST(8 AS BIGINT) THEN CASE WHEN raw < CAST(2 AS BIGINT) THEN CASE WHEN raw
            < CAST(1 AS BIGINT) THEN 0 ELSE 1 END ELSE CASE WHEN raw < CAST(4 AS BIGINT) THEN 2 ELSE
            3 END END ELSE CASE WHEN raw < CAST(32 AS BIGINT) THEN CASE WHEN raw < CAST(16 AS BIGINT)
            THEN 4 ELSE 5 END ELSE CASE WHEN raw < CAST(64 AS BIGINT) THEN 6 ELSE 7 END END END AS
            bucket
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
) AS placed
GROUP BY grp, bucket;
