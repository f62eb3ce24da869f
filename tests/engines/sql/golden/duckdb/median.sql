WITH scanned AS MATERIALIZED (
    SELECT 0 AS grp,
        count(cell) AS n,
        CAST(coalesce(sum(cell < CAST(-9223372036854775808 AS BIGINT)), 0) AS BIGINT) AS below0,
        list(cell) FILTER (WHERE (cell < CAST(-9223372036854775808 AS BIGINT)) < (cell <= CAST(9223372036854775807
            AS BIGINT))) AS inside0
    FROM (
        SELECT cell
        FROM (
            SELECT CAST("fare" AS BIGINT) AS cell
            FROM "taxis"."main"."trips"
        ) AS cells
    ) AS kept
),
cells0 AS MATERIALIZED (
    SELECT grp,
        raw,
        floor((least(greatest(CAST(raw AS DOUBLE), '-6.8046875'::DOUBLE), '1007.8046875'::DOUBLE) -
            '-14.609375'::DOUBLE) / '15.609375'::DOUBLE) AS bucket
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
                CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END
                    AS BIGINT) AS place,
                0 AS doubt
            FROM near0
        ) AS keyed
        GROUP BY grp, place, doubt
    ) AS counted
        JOIN unders0 USING (grp)
) AS ranked
WHERE held = 0 OR (upto >= ('0.5'::DOUBLE * n - 54) AND upto - number <= ('0.5'::DOUBLE * n + 54))
UNION ALL
SELECT grp, 0 AS target, 0 AS held, CAST(0 AS BIGINT), 0, 0, below0, n
FROM scanned;
