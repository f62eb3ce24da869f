SELECT grp,
    size,
    found[1] AS raw0,
    found[2] AS raw1,
    found[3] AS raw2,
    found[4] AS raw3,
    found[5] AS raw4,
    found[6] AS raw5,
    found[7] AS raw6,
    found[8] AS raw7,
    found[9] AS raw8,
    found[10] AS raw9,
    found[11] AS raw10,
    found[12] AS raw11,
    found[13] AS raw12,
    found[14] AS raw13,
    found[15] AS raw14,
    found[16] AS raw15,
    found[17] AS raw16,
    found[18] AS raw17,
    found[19] AS raw18,
    found[20] AS raw19,
    found[21] AS raw20,
    found[22] AS raw21,
    found[23] AS raw22,
    found[24] AS raw23
FROM (
    SELECT grp,
        count(*) AS size,
        quantile_disc(cell, [0.4998568932067995, 0.499728786413599, 0.499442572827198,
            0.49931446603399754, 0.4990282524475965, 0.49861393206799504, 0.498061504895193,
            0.49694775821560466, 0.49583785211218817, 0.49306308685364697, 0.486126173707294,
            0.4667028168975056, 0.5001431067932005, 0.500271213586401, 0.5005574271728019,
            0.5006855339660025, 0.5009717475524035, 0.501386067932005, 0.5019384951048069,
            0.5030522417843953, 0.5041621478878118, 0.506936913146353, 0.5138738262927061,
            0.5332971831024944]) AS found
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT CAST("fare" AS BIGINT) AS cell
            FROM (
                SELECT *
                FROM "taxis"."main"."trips" USING SAMPLE 5.242880% (system)
            ) AS sampled
        ) AS cells
        WHERE cell IS NOT NULL
    ) AS kept
    GROUP BY grp
) AS tallied;

WITH scanned AS MATERIALIZED (
    SELECT 0 AS grp,
        count(cell) AS n,
        CAST(coalesce(sum(cell < CAST(489 AS BIGINT)), 0) AS BIGINT) AS below0,
        list(cell) FILTER (WHERE (cell < CAST(489 AS BIGINT)) < (cell <= CAST(511 AS BIGINT))) AS
            inside0
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
        floor((least(greatest(CAST(raw AS DOUBLE), '487.9999999999999'::DOUBLE), '512.0000000000001'::DOUBLE)
            - '486.9999999999998'::DOUBLE) / '2.0000000000002274'::DOUBLE) AS bucket
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
            SELECT grp, CAST(raw AS BIGINT) AS place, 0 AS doubt
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
