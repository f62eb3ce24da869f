WITH scanned AS MATERIALIZED (
    SELECT 0 AS grp,
        count(*) AS n,
        CAST(coalesce(sum(cell < '-inf'::DOUBLE), 0) AS BIGINT) AS below0,
        list(cell) FILTER (WHERE (cell < '-inf'::DOUBLE) < (cell <= 'inf'::DOUBLE)) AS inside0
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT CAST("tip" AS DOUBLE) AS cell
            FROM "taxis"."main"."trips"
            WHERE (coalesce(((((CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <=
                    10000 THEN (CAST("city" AS VARCHAR) COLLATE "binary") END COLLATE "binary")) = (('Oslo')
                    COLLATE "binary")) AND ((date_diff('day', DATE '1970-01-01', CASE WHEN "day" >
                    DATE '9999-12-31' THEN DATE '9999-12-31' WHEN "day" < DATE '0001-01-01' THEN
                    DATE '0001-01-01' ELSE "day" END)) >= (19723))), FALSE))
        ) AS cells
        WHERE (isfinite(cell) OR isinf(cell))
    ) AS kept
),
cells0 AS MATERIALIZED (
    SELECT grp,
        raw,
        floor((least(greatest(CAST(raw AS DOUBLE), '-0.7761718750000001'::DOUBLE), '100.776171875'::DOUBLE)
            - '-1.5573437500000002'::DOUBLE) / '1.5623437500000001'::DOUBLE) AS bucket
    FROM (
        SELECT 0 AS grp, cell AS raw
        FROM (
            SELECT grp, unnest(inside0) AS cell
            FROM scanned
        ) AS unnested
    ) AS raws
),
buckets0 AS MATERIALIZED (
    SELECT grp,
        bucket,
        number,
        below0 + sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING) AS
            upto,
        n
    FROM (
        SELECT grp, bucket, count(*) AS number
        FROM cells0
        GROUP BY grp, bucket
    ) AS counts
        JOIN scanned USING (grp)
),
chosen0 AS MATERIALIZED (
    SELECT grp,
        min(CASE WHEN upto >= ('0.5'::DOUBLE * n - 54) THEN bucket END) - 2 AS first_bucket,
        max(CASE WHEN upto - number <= ('0.5'::DOUBLE * n + 54) THEN bucket END) + 2 AS last_bucket
    FROM buckets0
    GROUP BY grp
),
near0 AS MATERIALIZED (
    SELECT grp, raw
    FROM cells0
        JOIN chosen0 USING (grp)
    WHERE bucket >= first_bucket AND bucket <= last_bucket
),
unders0 AS MATERIALIZED (
    SELECT grp, n, min(upto - number) AS under
    FROM buckets0
        JOIN chosen0 USING (grp)
    WHERE bucket >= first_bucket
    GROUP BY grp, n
)
SELECT grp, 0 AS target, held, place, doubt, number, upto, n
FROM (
    SELECT *,
        min(CASE WHEN held = 1 AND upto >= ('0.5'::DOUBLE * n - 54) THEN CAST(place AS DOUBLE) END)
            OVER (PARTITION BY grp) AS lowest0,
        max(CASE WHEN held = 1 AND upto - number <= ('0.5'::DOUBLE * n + 54) THEN CAST(place AS
            DOUBLE) END) OVER (PARTITION BY grp) AS highest0
    FROM (
        SELECT grp,
            1 AS held,
            place,
            doubt,
            number,
            CAST(under + sum(number) OVER (PARTITION BY grp ORDER BY place, doubt ROWS UNBOUNDED
                PRECEDING) AS BIGINT) AS upto,
            n
        FROM (
            SELECT grp, place, doubt, count(*) AS number
            FROM (
                SELECT grp,
                    CASE WHEN raw < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
                        THEN '10000'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) -
                        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) <
                        '0.49999999999111644'::DOUBLE) THEN floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE)
                        + '0.5'::DOUBLE) ELSE floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE)) +
                        '0.5'::DOUBLE END AS place,
                    CASE WHEN raw < '0.005'::DOUBLE THEN '0.0'::DOUBLE WHEN raw >= '99.995'::DOUBLE
                        THEN '0.0'::DOUBLE WHEN (abs(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) -
                        floor(((raw - '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE)) <
                        '0.49999999999111644'::DOUBLE) THEN '0.0'::DOUBLE ELSE raw END AS doubt
                FROM near0
            ) AS keyed
            GROUP BY grp, place, doubt
        ) AS counted
            JOIN unders0 USING (grp)
    ) AS ranked
) AS bounded
WHERE held = 0 OR (CAST(place AS DOUBLE) >= lowest0 - '1'::DOUBLE AND CAST(place AS DOUBLE) <=
        highest0 + '1'::DOUBLE)
UNION ALL
SELECT grp, 0 AS target, 0 AS held, '0.0'::DOUBLE, '0.0'::DOUBLE, 0, below0, n
FROM scanned;
