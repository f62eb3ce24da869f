SELECT grp,
    0 AS doubt,
    '0.0'::DOUBLE AS cell,
    count(*) AS n,
    CAST(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
        THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) THEN
        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) <= (100) THEN 1 ELSE 0 END) //
        281474976710656 AS BIGINT) AS high,
    CAST(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
        THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) THEN
        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) <= (100) THEN 1 ELSE 0 END) %
        281474976710656 AS BIGINT) AS low,
    CAST(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
        THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) THEN
        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) >= (900) THEN 1 ELSE 0 END) //
        281474976710656 AS BIGINT) AS high1,
    CAST(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
        THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) THEN
        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) >= (900) THEN 1 ELSE 0 END) %
        281474976710656 AS BIGINT) AS low1,
    CAST(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
        THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) THEN
        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) <= (100) OR CAST(CASE WHEN raw < '0.005'::DOUBLE
        THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE) - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) <
        '0.49999999999111644'::DOUBLE) THEN floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)
        ELSE floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) >= (900)
        THEN CAST(0 AS BIGINT) ELSE CAST((CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN
        raw >= '99.995'::DOUBLE THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE)
        - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE)
        THEN floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) - (100)) AS BIGINT) END) //
        281474976710656 AS BIGINT) AS high2,
    CAST(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
        THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) THEN
        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) <= (100) OR CAST(CASE WHEN raw < '0.005'::DOUBLE
        THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE)
        / '0.01'::DOUBLE) - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) <
        '0.49999999999111644'::DOUBLE) THEN floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)
        ELSE floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) >= (900)
        THEN CAST(0 AS BIGINT) ELSE CAST((CAST(CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN
        raw >= '99.995'::DOUBLE THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE)
        - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE)
        THEN floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw -
        '0.0'::DOUBLE) / '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) - (100)) AS BIGINT) END) %
        281474976710656 AS BIGINT) AS low2
FROM (
    SELECT cell AS raw, grp
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT CAST("tip" AS DOUBLE) AS cell
            FROM "taxis"."main"."trips"
        ) AS cells
        WHERE (isfinite(cell) OR isinf(cell))
    ) AS kept
) AS raws
WHERE NOT CASE WHEN raw < '0.005'::DOUBLE THEN FALSE WHEN raw >= '99.995'::DOUBLE THEN FALSE ELSE
        NOT (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE)
        + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) END
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
            SELECT CAST("tip" AS DOUBLE) AS cell
            FROM "taxis"."main"."trips"
        ) AS cells
        WHERE (isfinite(cell) OR isinf(cell))
    ) AS kept
) AS raws
WHERE CASE WHEN raw < '0.005'::DOUBLE THEN FALSE WHEN raw >= '99.995'::DOUBLE THEN FALSE ELSE NOT (abs(((raw
        - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE))
        < '0.49999999999111644'::DOUBLE) END
GROUP BY grp, raw;
