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
        JOIN unnest(ARRAY[0, 1, 2], ARRAY[CAST(-9223372036854775808 AS bigint), CAST(-9223372036854775808
            AS bigint), CAST(-9223372036854775808 AS bigint)], ARRAY[CAST(9223372036854775807 AS
            bigint), CAST(9223372036854775807 AS bigint), CAST(9223372036854775807 AS bigint)],
            ARRAY['-14.609375'::double precision, '-14.609375'::double precision, '-14.609375'::double
            precision], ARRAY['-6.8046875'::double precision, '-6.8046875'::double precision,
            '-6.8046875'::double precision], ARRAY['1007.8046875'::double precision, '1007.8046875'::double
            precision, '1007.8046875'::double precision], ARRAY['15.609375'::double precision,
            '15.609375'::double precision, '15.609375'::double precision]) AS limits(number, low0,
            last0, start0, first0, final0, width0) ON grp = limits.number
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
            JOIN unnest(ARRAY[0, 1, 2], ARRAY[CAST(-9223372036854775808 AS bigint), CAST(-9223372036854775808
                AS bigint), CAST(-9223372036854775808 AS bigint)], ARRAY[CAST(9223372036854775807 AS
                bigint), CAST(9223372036854775807 AS bigint), CAST(9223372036854775807 AS bigint)],
                ARRAY['-14.609375'::double precision, '-14.609375'::double precision, '-14.609375'::double
                precision], ARRAY['-6.8046875'::double precision, '-6.8046875'::double precision,
                '-6.8046875'::double precision], ARRAY['1007.8046875'::double precision,
                '1007.8046875'::double precision, '1007.8046875'::double precision], ARRAY['15.609375'::double
                precision, '15.609375'::double precision, '15.609375'::double precision]) AS limits(number,
                low0, last0, start0, first0, final0, width0) ON grp = limits.number
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
            SELECT grp,
                CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END
                    AS bigint) AS place,
                0 AS doubt
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
