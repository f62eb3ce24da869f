SELECT grp,
    size,
    CAST(found[1] AS bigint) AS raw0,
    CAST(found[2] AS bigint) AS raw1,
    CAST(found[3] AS bigint) AS raw2,
    CAST(found[4] AS bigint) AS raw3,
    CAST(found[5] AS bigint) AS raw4,
    CAST(found[6] AS bigint) AS raw5,
    CAST(found[7] AS bigint) AS raw6,
    CAST(found[8] AS bigint) AS raw7,
    CAST(found[9] AS bigint) AS raw8,
    CAST(found[10] AS bigint) AS raw9,
    CAST(found[11] AS bigint) AS raw10,
    CAST(found[12] AS bigint) AS raw11,
    CAST(found[13] AS bigint) AS raw12,
    CAST(found[14] AS bigint) AS raw13,
    CAST(found[15] AS bigint) AS raw14,
    CAST(found[16] AS bigint) AS raw15,
    CAST(found[17] AS bigint) AS raw16,
    CAST(found[18] AS bigint) AS raw17,
    CAST(found[19] AS bigint) AS raw18,
    CAST(found[20] AS bigint) AS raw19,
    CAST(found[21] AS bigint) AS raw20,
    CAST(found[22] AS bigint) AS raw21,
    CAST(found[23] AS bigint) AS raw22,
    CAST(found[24] AS bigint) AS raw23
FROM (
    SELECT grp,
        count(*) AS size,
        percentile_disc(ARRAY[0.49889014565439604, 0.497795291308792, 0.49557558261758405,
            0.4944807282719801, 0.4922610195807721, 0.4889464565439602, 0.48452703916154427,
            0.4751505950217124, 0.4661144477568806, 0.44352407959480095, 0.38704815918960195,
            0.22891558205504464, 0.501109854345604, 0.5022047086912079, 0.504424417382416,
            0.5055192717280199, 0.5077389804192278, 0.5110535434560398, 0.5154729608384557,
            0.5248494049782876, 0.5338855522431194, 0.556475920405199, 0.6129518408103981,
            0.7710844179449554]::float8[]) WITHIN GROUP (ORDER BY cell) AS found
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT "fare" AS cell
            FROM (
                SELECT *
                FROM "public"."trips"
                WHERE ctid = ANY (ARRAY(SELECT ('(' || spot * 80000 / 8192 || ',' || 1 + (spot *
                        7919) % 125 || ')')::tid FROM generate_series(0::bigint, 8191) AS spot))
            ) AS sampled
        ) AS cells
        WHERE cell IS NOT NULL
    ) AS kept
    GROUP BY grp
) AS tallied;

WITH scanned AS MATERIALIZED (
    SELECT 0 AS grp, count(cell) AS n, count(*) FILTER (WHERE cell < CAST(499 AS bigint)) AS below0
    FROM (
        SELECT cell
        FROM (
            SELECT "fare" AS cell
            FROM "public"."trips"
        ) AS cells
    ) AS kept
),
stretches0 AS MATERIALIZED (
    SELECT CASE WHEN down <= '0.0011098543456039807'::double precision THEN CAST(499 AS bigint) WHEN
            down <= '0.0022047086912079616'::double precision THEN CAST(498 AS bigint) WHEN down <=
            '0.004424417382415923'::double precision THEN CAST(497 AS bigint) WHEN down <=
            '0.005519271728019903'::double precision THEN CAST(496 AS bigint) WHEN down <=
            '0.007738980419227864'::double precision THEN CAST(495 AS bigint) WHEN down <=
            '0.011053543456039806'::double precision THEN CAST(494 AS bigint) WHEN down <=
            '0.015472960838455728'::double precision THEN CAST(493 AS bigint) WHEN down <=
            '0.024849404978287578'::double precision THEN CAST(492 AS bigint) WHEN down <=
            '0.03388555224311942'::double precision THEN CAST(492 AS bigint) WHEN down <=
            '0.05647592040519903'::double precision THEN CAST(492 AS bigint) WHEN down <=
            '0.11295184081039807'::double precision THEN CAST(492 AS bigint) WHEN down <=
            '0.27108441794495536'::double precision THEN CAST(492 AS bigint) ELSE CAST(492 AS bigint)
            END AS first,
        CASE WHEN up <= '0.0011098543456039807'::double precision THEN CAST(501 AS bigint) WHEN up
            <= '0.0022047086912079616'::double precision THEN CAST(502 AS bigint) WHEN up <=
            '0.004424417382415923'::double precision THEN CAST(503 AS bigint) WHEN up <=
            '0.005519271728019903'::double precision THEN CAST(504 AS bigint) WHEN up <=
            '0.007738980419227864'::double precision THEN CAST(505 AS bigint) WHEN up <=
            '0.011053543456039806'::double precision THEN CAST(506 AS bigint) WHEN up <=
            '0.015472960838455728'::double precision THEN CAST(507 AS bigint) WHEN up <=
            '0.024849404978287578'::double precision THEN CAST(508 AS bigint) WHEN up <=
            '0.03388555224311942'::double precision THEN CAST(508 AS bigint) WHEN up <=
            '0.05647592040519903'::double precision THEN CAST(508 AS bigint) WHEN up <=
            '0.11295184081039807'::double precision THEN CAST(508 AS bigint) WHEN up <=
            '0.27108441794495536'::double precision THEN CAST(508 AS bigint) ELSE CAST(508 AS bigint)
            END AS last
    FROM (
        SELECT ('0.5'::double precision - '0.49889014565439604'::double precision - (('0.5'::double
                precision * n - 54) - below) / greatest(n, 1) + (4 * sqrt(abs(('0.5'::double
                precision * n - 54) - below) / greatest(n, 1) * '60000'::double precision + 4) + 1)
                / '60000'::double precision) AS down,
            ('0.49889014565439604'::double precision + (('0.5'::double precision * n + 54) - below)
                / greatest(n, 1) - '0.5'::double precision + (4 * sqrt(abs(('0.5'::double precision
                * n + 54) - below) / greatest(n, 1) * '60000'::double precision + 4) + 1) / '60000'::double
                precision) AS up
        FROM (
            SELECT n, below0 AS below
            FROM scanned
        ) AS counts
    ) AS aims
),
cells0 AS MATERIALIZED (
    SELECT grp,
        raw,
        number,
        floor((least(greatest(CAST(raw AS double precision), '490.9999999999999'::double precision),
            '509.0000000000001'::double precision) - '489.9999999999998'::double precision) /
            '2.0000000000002274'::double precision) AS bucket
    FROM (
        SELECT 0 AS grp, number, CAST(cell AS bigint) AS raw
        FROM (
            SELECT cell, count(*) AS number
            FROM (
                SELECT cell
                FROM (
                    SELECT "fare" AS cell
                    FROM "public"."trips"
                ) AS cells
            ) AS kept
            WHERE cell >= (SELECT first FROM stretches0) AND cell <= (SELECT last FROM stretches0)
            GROUP BY cell
        ) AS counted_cells
    ) AS raws
),
buckets0 AS MATERIALIZED (
    SELECT grp,
        bucket,
        number,
        below0 - (SELECT coalesce(sum(CASE WHEN raw < CAST(499 AS bigint) THEN number END), 0) FROM
            cells0) + sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING)
            AS upto,
        n
    FROM (
        SELECT grp, bucket, CAST(sum(number) AS bigint) AS number
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
    SELECT grp, number, raw
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
            PRECEDING) AS bigint) AS upto,
        n
    FROM (
        SELECT grp, place, doubt, CAST(sum(number) AS bigint) AS number
        FROM (
            SELECT grp, number, CAST(raw AS bigint) AS place, 0 AS doubt
            FROM near0
        ) AS keyed
        GROUP BY grp, place, doubt
    ) AS counted
        JOIN unders0 USING (grp)
) AS ranked
WHERE held = 0 OR (upto >= ('0.5'::double precision * n - 54) AND upto - number <= ('0.5'::double
        precision * n + 54))
UNION ALL
SELECT grp, 0 AS target, 0 AS held, CAST(0 AS bigint), 0, 0, below0, n
FROM scanned;
