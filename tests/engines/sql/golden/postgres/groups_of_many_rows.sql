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
        percentile_disc(ARRAY[0.4980713361384506, 0.4961876722769013, 0.4923303445538026,
            0.4904466806922532, 0.4865893529691545, 0.48084836138450643, 0.473193705938309,
            0.45627156692091414, 0.44037031852851927, 0.4006171975475321, 0.3012343950950642,
            0.022962548228154023, 0.5019286638615493, 0.5038123277230987, 0.5076696554461975,
            0.5095533193077468, 0.5134106470308455, 0.5191516386154936, 0.526806294061691,
            0.5437284330790859, 0.5596296814714807, 0.5993828024524679, 0.6987656049049358,
            0.977037451771846]::float8[]) WITHIN GROUP (ORDER BY cell) AS found
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT "fare" AS cell,
                (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE WHEN
                    char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city" AS
                    text) COLLATE "C") END END COLLATE "C") AS key0
            FROM (
                SELECT *
                FROM "public"."trips"
                WHERE ctid = ANY (ARRAY(SELECT ('(' || spot * 80000 / 8192 || ',' || 1 + (spot *
                        7919) % 125 || ')')::tid FROM generate_series(0::bigint, 8191) AS spot))
            ) AS sampled
        ) AS cells
            JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text) COLLATE
                "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name, number)
                ON key0 = keys0.name
        WHERE cell IS NOT NULL
    ) AS kept
    GROUP BY grp
) AS tallied;

WITH scanned AS MATERIALIZED (
    SELECT grp, count(*) AS n, count(*) FILTER (WHERE cell < low0) AS below0
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT "fare" AS cell,
                (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE WHEN
                    char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city" AS
                    text) COLLATE "C") END END COLLATE "C") AS key0
            FROM "public"."trips"
        ) AS cells
            JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text) COLLATE
                "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name, number)
                ON key0 = keys0.name
        WHERE cell IS NOT NULL
    ) AS kept
        JOIN unnest(ARRAY[0, 1, 2], ARRAY[CAST(492 AS bigint), CAST(492 AS bigint), CAST(492 AS
            bigint)], ARRAY[CAST(508 AS bigint), CAST(508 AS bigint), CAST(508 AS bigint)], ARRAY['489.9999999999998'::double
            precision, '489.9999999999998'::double precision, '489.9999999999998'::double precision],
            ARRAY['490.9999999999999'::double precision, '490.9999999999999'::double precision,
            '490.9999999999999'::double precision], ARRAY['509.0000000000001'::double precision,
            '509.0000000000001'::double precision, '509.0000000000001'::double precision], ARRAY['2.0000000000002274'::double
            precision, '2.0000000000002274'::double precision, '2.0000000000002274'::double
            precision]) AS limits(number, low0, last0, start0, first0, final0, width0) ON grp =
            limits.number
    GROUP BY grp
),
cells0 AS MATERIALIZED (
    SELECT grp,
        raw,
        floor((least(greatest(CAST(raw AS double precision), first0), final0) - start0) / width0) AS
            bucket
    FROM (
        SELECT grp, CAST(cell AS bigint) AS raw, start0, first0, final0, width0
        FROM (
            SELECT cell, keys0.number * 1 AS grp
            FROM (
                SELECT "fare" AS cell,
                    (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE
                        WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city"
                        AS text) COLLATE "C") END END COLLATE "C") AS key0
                FROM "public"."trips"
            ) AS cells
                JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text)
                    COLLATE "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name,
                    number) ON key0 = keys0.name
            WHERE cell IS NOT NULL
        ) AS kept
            JOIN unnest(ARRAY[0, 1, 2], ARRAY[CAST(492 AS bigint), CAST(492 AS bigint), CAST(492 AS
                bigint)], ARRAY[CAST(508 AS bigint), CAST(508 AS bigint), CAST(508 AS bigint)],
                ARRAY['489.9999999999998'::double precision, '489.9999999999998'::double precision,
                '489.9999999999998'::double precision], ARRAY['490.9999999999999'::double precision,
                '490.9999999999999'::double precision, '490.9999999999999'::double precision],
                ARRAY['509.0000000000001'::double precision, '509.0000000000001'::double precision,
                '509.0000000000001'::double precision], ARRAY['2.0000000000002274'::double precision,
                '2.0000000000002274'::double precision, '2.0000000000002274'::double precision]) AS
                limits(number, low0, last0, start0, first0, final0, width0) ON grp = limits.number
        WHERE (cell >= low0 AND cell <= last0)
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
            SELECT grp, CAST(raw AS bigint) AS place, 0 AS doubt
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
