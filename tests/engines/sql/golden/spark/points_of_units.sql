SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT CASE WHEN place < CAST(8 AS BIGINT) THEN CASE WHEN place < CAST(2 AS BIGINT) THEN CASE
            WHEN place < CAST(1 AS BIGINT) THEN 0 ELSE 1 END ELSE CASE WHEN place < CAST(4 AS BIGINT)
            THEN 2 ELSE 3 END END ELSE CASE WHEN place < CAST(32 AS BIGINT) THEN CASE WHEN place <
            CAST(16 AS BIGINT) THEN 4 ELSE 5 END ELSE CASE WHEN place < CAST(64 AS BIGINT) THEN 6
            ELSE 7 END END END AS bucket
    FROM (
        SELECT grp, place
        FROM (
            SELECT grp,
                place,
                row_number() OVER (PARTITION BY unit ORDER BY md5(CAST(concat_ws(':', unit, CAST(CAST(place
                    AS DECIMAL(38,0)) + CAST(0 AS DECIMAL(20,0)) AS STRING), CAST(CAST(grp AS
                    DECIMAL(38,0)) + CAST(0 AS DECIMAL(20,0)) AS STRING)) AS BINARY))) AS turn
            FROM (
                SELECT grp,
                    unit,
                    CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END
                        END AS BIGINT) AS place
                FROM (
                    SELECT cell AS raw, grp, unit
                    FROM (
                        SELECT cell, 0 AS grp, unit
                        FROM (
                            SELECT CAST(`fare` AS BIGINT) AS cell,
                                (CASE WHEN octet_length(CAST(`rider` AS STRING)) <= 40000 THEN CASE
                                    WHEN char_length(CAST(`rider` AS STRING)) <= 10000 THEN CAST(`rider`
                                    AS STRING) END END) AS unit
                            FROM {source}
                        ) AS cells
                        WHERE cell IS NOT NULL AND unit IS NOT NULL
                    ) AS kept
                ) AS raws
            ) AS numbered
        ) AS turns
        WHERE turn <= 3
    ) AS bounded
) AS placed
GROUP BY bucket;
