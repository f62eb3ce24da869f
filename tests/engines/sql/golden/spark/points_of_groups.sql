SELECT grp, bucket, count(*) AS number
FROM (
    SELECT grp, least(half, 7) AS bucket
    FROM (
        SELECT grp,
            raw,
            2 * half + CASE WHEN raw >= CAST(split('1 4 16 64', ' ') AS ARRAY<BIGINT>)[half] THEN 1
                ELSE 0 END AS half
        FROM (
            SELECT grp,
                raw,
                2 * half + CASE WHEN raw >= CAST(split('2 32', ' ') AS ARRAY<BIGINT>)[half] THEN 1
                    ELSE 0 END AS half
            FROM (
                SELECT grp,
                    raw,
                    2 * half + CASE WHEN raw >= CAST(split('8', ' ') AS ARRAY<BIGINT>)[half] THEN 1
                        ELSE 0 END AS half
                FROM (
                    SELECT grp, raw, 0 AS half
                    FROM (
                        SELECT cell AS raw, grp
                        FROM (
                            SELECT cell, keys0.number * 1 AS grp
                            FROM (
                                SELECT CAST(`fare` AS BIGINT) AS cell,
                                    (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN
                                        CASE WHEN char_length(CAST(`city` AS STRING)) <= 10000 THEN
                                        CAST(`city` AS STRING) END END) AS key0
                                FROM {source}
                            ) AS cells
                                JOIN (
                                VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS
                                        STRING), 1), (CAST(X'426f64c3b8' AS STRING), 2)
                            ) AS keys0(name, number) ON key0 = keys0.name
                            WHERE cell IS NOT NULL
                        ) AS kept
                    ) AS raws
                ) AS undivided
            ) AS halved
        ) AS halved
    ) AS halved
) AS placed
GROUP BY grp, bucket;
