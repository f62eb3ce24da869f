SELECT grp,
    0 AS doubt,
    '0.0'::double precision AS cell,
    count(*) AS n,
    CAST(div(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double precision
        WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw -
        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double precision)
        / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) <= (100) THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS high,
    CAST(mod(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double precision
        WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw -
        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double precision)
        / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) <= (100) THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS low,
    CAST(div(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double precision
        WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw -
        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double precision)
        / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) >= (900) THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS high1,
    CAST(mod(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double precision
        WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw -
        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double precision)
        / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) >= (900) THEN 1 ELSE 0 END), 281474976710656) AS bigint) AS low1,
    CAST(div(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double precision
        WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw -
        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double precision)
        / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) <= (100) OR CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double
        precision WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw
        - '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double
        precision) / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) >= (900) THEN CAST(0 AS bigint) ELSE CAST((CAST(CASE WHEN raw <
        '0.005'::double precision THEN '0'::double precision WHEN raw >= '99.995'::double precision
        THEN '10000'::double precision WHEN (abs(((raw - '0.0'::double precision) / '0.01'::double
        precision) - floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision)) < '0.49999999999111644'::double precision) THEN floor(((raw - '0.0'::double
        precision) / '0.01'::double precision) + '0.5'::double precision) ELSE floor(((raw - '0.0'::double
        precision) / '0.01'::double precision)) + '0.5'::double precision END AS bigint) - (100)) AS
        bigint) END), 281474976710656) AS bigint) AS high2,
    CAST(mod(sum(CASE WHEN CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double precision
        WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw -
        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double precision)
        / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) <= (100) OR CAST(CASE WHEN raw < '0.005'::double precision THEN '0'::double
        precision WHEN raw >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw
        - '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double
        precision) / '0.01'::double precision) + '0.5'::double precision)) < '0.49999999999111644'::double
        precision) THEN floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
        precision END AS bigint) >= (900) THEN CAST(0 AS bigint) ELSE CAST((CAST(CASE WHEN raw <
        '0.005'::double precision THEN '0'::double precision WHEN raw >= '99.995'::double precision
        THEN '10000'::double precision WHEN (abs(((raw - '0.0'::double precision) / '0.01'::double
        precision) - floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision)) < '0.49999999999111644'::double precision) THEN floor(((raw - '0.0'::double
        precision) / '0.01'::double precision) + '0.5'::double precision) ELSE floor(((raw - '0.0'::double
        precision) / '0.01'::double precision)) + '0.5'::double precision END AS bigint) - (100)) AS
        bigint) END), 281474976710656) AS bigint) AS low2
FROM (
    SELECT CAST(cell AS double precision) AS raw, grp
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT "tip" AS cell
            FROM "public"."trips"
        ) AS cells
        WHERE cell < 'NaN'
    ) AS kept
) AS raws
WHERE NOT CASE WHEN raw < '0.005'::double precision THEN FALSE WHEN raw >= '99.995'::double
        precision THEN FALSE ELSE NOT (abs(((raw - '0.0'::double precision) / '0.01'::double
        precision) - floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
        precision)) < '0.49999999999111644'::double precision) END
GROUP BY grp
UNION ALL
SELECT grp,
    1 AS doubt,
    raw AS cell,
    count(*) AS n,
    CAST(0 AS bigint) AS high,
    CAST(0 AS bigint) AS low,
    CAST(0 AS bigint) AS high1,
    CAST(0 AS bigint) AS low1,
    CAST(0 AS bigint) AS high2,
    CAST(0 AS bigint) AS low2
FROM (
    SELECT CAST(cell AS double precision) AS raw, grp
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT "tip" AS cell
            FROM "public"."trips"
        ) AS cells
        WHERE cell < 'NaN'
    ) AS kept
) AS raws
WHERE CASE WHEN raw < '0.005'::double precision THEN FALSE WHEN raw >= '99.995'::double precision
        THEN FALSE ELSE NOT (abs(((raw - '0.0'::double precision) / '0.01'::double precision) -
        floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double precision))
        < '0.49999999999111644'::double precision) END
GROUP BY grp, raw;
