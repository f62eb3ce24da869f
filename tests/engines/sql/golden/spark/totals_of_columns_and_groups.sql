SELECT grp,
    count(place0) AS n0,
    coalesce(CAST(sum(CAST(place0 AS DECIMAL(20,0))) DIV CAST(281474976710656 AS DECIMAL(20,0)) AS
        BIGINT), 0) AS high0,
    coalesce(CAST(sum(CAST(place0 AS DECIMAL(20,0))) % CAST(281474976710656 AS DECIMAL(20,0)) AS
        BIGINT), 0) AS low0,
    count(place1) AS n1,
    coalesce(CAST(sum(CAST(place1 AS DECIMAL(20,0))) DIV CAST(281474976710656 AS DECIMAL(20,0)) AS
        BIGINT), 0) AS high1,
    coalesce(CAST(sum(CAST(place1 AS DECIMAL(20,0))) % CAST(281474976710656 AS DECIMAL(20,0)) AS
        BIGINT), 0) AS low1,
    count(raw1) AS cells1
FROM (
    SELECT grp,
        CAST(CASE WHEN raw0 > 1000 THEN 1000 ELSE CASE WHEN raw0 < 0 THEN 0 ELSE raw0 END END AS
            BIGINT) AS place0,
        CASE WHEN NOT CASE WHEN raw1 < 0.005D THEN FALSE WHEN raw1 >= 99.995D THEN FALSE ELSE NOT (abs(((raw1
            - 0.0D) / 0.01D) - (rint(((raw1 - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw1 - 0.0D)
            / 0.01D) + 0.5D) > ((raw1 - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) <
            0.49999999999111644D) END THEN CAST(CASE WHEN raw1 < 0.005D THEN 0.0D WHEN raw1 >=
            99.995D THEN 10000.0D WHEN (abs(((raw1 - 0.0D) / 0.01D) - (rint(((raw1 - 0.0D) / 0.01D)
            + 0.5D) - CASE WHEN rint(((raw1 - 0.0D) / 0.01D) + 0.5D) > ((raw1 - 0.0D) / 0.01D) +
            0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) THEN (rint(((raw1 - 0.0D) / 0.01D) +
            0.5D) - CASE WHEN rint(((raw1 - 0.0D) / 0.01D) + 0.5D) > ((raw1 - 0.0D) / 0.01D) + 0.5D
            THEN 1D ELSE 0D END) ELSE (rint(((raw1 - 0.0D) / 0.01D)) - CASE WHEN rint(((raw1 - 0.0D)
            / 0.01D)) > ((raw1 - 0.0D) / 0.01D) THEN 1D ELSE 0D END) + 0.5D END AS BIGINT) END AS
            place1,
        raw1 AS raw1
    FROM (
        SELECT grp,
            cell0 AS raw0,
            CASE WHEN (cell1 IS NOT NULL AND NOT isnan(cell1)) THEN cell1 END AS raw1
        FROM (
            SELECT cell0, cell1, keys0.number * 1 AS grp
            FROM (
                SELECT CAST(`fare` AS BIGINT) AS cell0,
                    CAST(`tip` AS DOUBLE) AS cell1,
                    (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                        char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END
                        END) AS key0
                FROM {source}
            ) AS cells
                JOIN (
                VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1), (CAST(X'426f64c3b8'
                        AS STRING), 2)
            ) AS keys0(name, number) ON key0 = keys0.name
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
