WITH scanned AS MATERIALIZED (
    SELECT 0 AS grp,
        count(*) AS n,
        count(*) FILTER (WHERE cell < '-inf'::double precision) AS below0
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT "tip" AS cell
            FROM "public"."trips"
            WHERE (coalesce(((((CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000
                    THEN CASE WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city"
                    AS text) COLLATE "C") END END COLLATE "C")) = (CAST(E'Oslo' AS text) COLLATE "C"))
                    AND ((CAST(CASE WHEN "day" > DATE '9999-12-31' THEN DATE '9999-12-31' WHEN "day"
                    < DATE '0001-01-01' THEN DATE '0001-01-01' ELSE "day" END - DATE '1970-01-01' AS
                    bigint)) >= (19723))), FALSE))
        ) AS cells
        WHERE cell < 'NaN'
    ) AS kept
),
cells0 AS MATERIALIZED (
    SELECT grp,
        raw,
        floor((least(greatest(CAST(raw AS double precision), '-0.7761718750000001'::double precision),
            '100.776171875'::double precision) - '-1.5573437500000002'::double precision) /
            '1.5623437500000001'::double precision) AS bucket
    FROM (
        SELECT 0 AS grp, CAST(cell AS double precision) AS raw
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT "tip" AS cell
                FROM "public"."trips"
                WHERE (coalesce(((((CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <=
                        40000 THEN CASE WHEN char_length((CAST("city" AS text) COLLATE "C")) <=
                        10000 THEN (CAST("city" AS text) COLLATE "C") END END COLLATE "C")) = (CAST(E'Oslo'
                        AS text) COLLATE "C")) AND ((CAST(CASE WHEN "day" > DATE '9999-12-31' THEN
                        DATE '9999-12-31' WHEN "day" < DATE '0001-01-01' THEN DATE '0001-01-01' ELSE
                        "day" END - DATE '1970-01-01' AS bigint)) >= (19723))), FALSE))
            ) AS cells
            WHERE cell < 'NaN'
        ) AS kept
        WHERE (cell >= '-inf'::double precision AND cell <= 'inf'::double precision)
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
    SELECT grp, min(CASE WHEN upto >= ('0.5'::double precision * n - 54) THEN bucket END) - 2 AS
            first_bucket,
        max(CASE WHEN upto - number <= ('0.5'::double precision * n + 54) THEN bucket END) + 2 AS
            last_bucket
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
        min(CASE WHEN held = 1 AND upto >= ('0.5'::double precision * n - 54) THEN CAST(place AS
            double precision) END) OVER (PARTITION BY grp) AS lowest0,
        max(CASE WHEN held = 1 AND upto - number <= ('0.5'::double precision * n + 54) THEN CAST(place
            AS double precision) END) OVER (PARTITION BY grp) AS highest0
    FROM (
        SELECT grp,
            1 AS held,
            place,
            doubt,
            number,
            CAST(under + sum(number) OVER (PARTITION BY grp ORDER BY place, doubt ROWS UNBOUNDED
                PRECEDING) AS bigint) AS upto,
            n
        FROM (
            SELECT grp, place, doubt, count(*) AS number
            FROM (
                SELECT grp,
                    CASE WHEN raw < '0.005'::double precision THEN '0'::double precision WHEN raw >=
                        '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw -
                        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double
                        precision) / '0.01'::double precision) + '0.5'::double precision)) <
                        '0.49999999999111644'::double precision) THEN floor(((raw - '0.0'::double
                        precision) / '0.01'::double precision) + '0.5'::double precision) ELSE floor(((raw
                        - '0.0'::double precision) / '0.01'::double precision)) + '0.5'::double
                        precision END AS place,
                    CASE WHEN raw < '0.005'::double precision THEN '0.0'::double precision WHEN raw
                        >= '99.995'::double precision THEN '0.0'::double precision WHEN (abs(((raw -
                        '0.0'::double precision) / '0.01'::double precision) - floor(((raw - '0.0'::double
                        precision) / '0.01'::double precision) + '0.5'::double precision)) <
                        '0.49999999999111644'::double precision) THEN '0.0'::double precision ELSE
                        raw END AS doubt
                FROM near0
            ) AS keyed
            GROUP BY grp, place, doubt
        ) AS counted
            JOIN unders0 USING (grp)
    ) AS ranked
) AS bounded
WHERE held = 0 OR (CAST(place AS double precision) >= lowest0 - '1'::double precision AND CAST(place
        AS double precision) <= highest0 + '1'::double precision)
UNION ALL
SELECT grp, 0 AS target, 0 AS held, '0.0'::double precision, '0.0'::double precision, 0, below0, n
FROM scanned;
