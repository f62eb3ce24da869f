SELECT grp,
    0 AS doubt,
    0.0D AS cell,
    count(*) AS n,
    CAST(sum(CAST(CASE WHEN CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D
        WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw
        - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) <
        0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw -
        0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw
        - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D
        ELSE 0D END) + 0.5D END AS BIGINT) <= (100) THEN 1 ELSE 0 END AS DECIMAL(20,0))) DIV CAST(281474976710656
        AS DECIMAL(20,0)) AS BIGINT) AS high,
    CAST(sum(CAST(CASE WHEN CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D
        WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw
        - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) <
        0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw -
        0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw
        - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D
        ELSE 0D END) + 0.5D END AS BIGINT) <= (100) THEN 1 ELSE 0 END AS DECIMAL(20,0))) % CAST(281474976710656
        AS DECIMAL(20,0)) AS BIGINT) AS low,
    CAST(sum(CAST(CASE WHEN CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D
        WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw
        - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) <
        0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw -
        0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw
        - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D
        ELSE 0D END) + 0.5D END AS BIGINT) >= (900) THEN 1 ELSE 0 END AS DECIMAL(20,0))) DIV CAST(281474976710656
        AS DECIMAL(20,0)) AS BIGINT) AS high1,
    CAST(sum(CAST(CASE WHEN CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D
        WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw
        - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) <
        0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw -
        0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw
        - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D
        ELSE 0D END) + 0.5D END AS BIGINT) >= (900) THEN 1 ELSE 0 END AS DECIMAL(20,0))) % CAST(281474976710656
        AS DECIMAL(20,0)) AS BIGINT) AS low1,
    CAST(sum(CAST(CASE WHEN CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D
        WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw
        - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) <
        0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw -
        0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw
        - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D
        ELSE 0D END) + 0.5D END AS BIGINT) <= (100) OR CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN
        raw >= 99.995D THEN 10000.0D WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D)
        + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN
        1D ELSE 0D END)) < 0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE
        WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)
        ELSE (rint(((raw - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D)
        / 0.01D) THEN 1D ELSE 0D END) + 0.5D END AS BIGINT) >= (900) THEN CAST(0 AS BIGINT) ELSE
        CAST((CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D WHEN (abs(((raw
        - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) /
        0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D)
        THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) >
        ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw - 0.0D) / 0.01D)) - CASE
        WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D ELSE 0D END) + 0.5D END
        AS BIGINT) - (100)) AS BIGINT) END AS DECIMAL(20,0))) DIV CAST(281474976710656 AS DECIMAL(20,0))
        AS BIGINT) AS high2,
    CAST(sum(CAST(CASE WHEN CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D
        WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw
        - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) <
        0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw -
        0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw
        - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D
        ELSE 0D END) + 0.5D END AS BIGINT) <= (100) OR CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN
        raw >= 99.995D THEN 10000.0D WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D)
        + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN
        1D ELSE 0D END)) < 0.49999999999111644D) THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE
        WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)
        ELSE (rint(((raw - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D)
        / 0.01D) THEN 1D ELSE 0D END) + 0.5D END AS BIGINT) >= (900) THEN CAST(0 AS BIGINT) ELSE
        CAST((CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D THEN 10000.0D WHEN (abs(((raw
        - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) /
        0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D)
        THEN (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) >
        ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE (rint(((raw - 0.0D) / 0.01D)) - CASE
        WHEN rint(((raw - 0.0D) / 0.01D)) > ((raw - 0.0D) / 0.01D) THEN 1D ELSE 0D END) + 0.5D END
        AS BIGINT) - (100)) AS BIGINT) END AS DECIMAL(20,0))) % CAST(281474976710656 AS DECIMAL(20,0))
        AS BIGINT) AS low2
FROM (
    SELECT cell AS raw, grp
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT CAST(`tip` AS DOUBLE) AS cell
            FROM {source}
        ) AS cells
        WHERE (cell IS NOT NULL AND NOT isnan(cell))
    ) AS kept
) AS raws
WHERE NOT CASE WHEN raw < 0.005D THEN FALSE WHEN raw >= 99.995D THEN FALSE ELSE NOT (abs(((raw -
        0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D)
        + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) END
GROUP BY grp
UNION ALL
SELECT grp,
    1 AS doubt,
    raw AS cell,
    count(*) AS n,
    CAST(0 AS BIGINT) AS high,
    CAST(0 AS BIGINT) AS low,
    CAST(0 AS BIGINT) AS high1,
    CAST(0 AS BIGINT) AS low1,
    CAST(0 AS BIGINT) AS high2,
    CAST(0 AS BIGINT) AS low2
FROM (
    SELECT cell AS raw, grp
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT CAST(`tip` AS DOUBLE) AS cell
            FROM {source}
        ) AS cells
        WHERE (cell IS NOT NULL AND NOT isnan(cell))
    ) AS kept
) AS raws
WHERE CASE WHEN raw < 0.005D THEN FALSE WHEN raw >= 99.995D THEN FALSE ELSE NOT (abs(((raw - 0.0D) /
        0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D)
        > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) END
GROUP BY grp, raw;
