SELECT grp, part, count(*) AS number
FROM (
    SELECT grp, (place DIV 1) AS part
    FROM (
        SELECT grp, CASE WHEN spot >= 128 AND spot < 448 THEN spot - 128 END AS place
        FROM (
            SELECT grp, CAST(raw AS BIGINT) AS spot
            FROM (
                SELECT cell AS raw, grp
                FROM (
                    SELECT cell, keys0.number * 1 AS grp
                    FROM (
                        SELECT CAST(`fare` AS BIGINT) AS cell,
                            (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                                char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS
                                STRING) END END) AS key0
                        FROM {source}
                    ) AS cells
                        JOIN (
                        VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1),
                                (CAST(X'426f64c3b8' AS STRING), 2)
                    ) AS keys0(name, number) ON key0 = keys0.name
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
GROUP BY grp, part;
