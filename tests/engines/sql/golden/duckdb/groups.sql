WITH scanned AS MATERIALIZED (
    SELECT grp,
        count(*) AS n,
        CAST(coalesce(sum(cell < low0), 0) AS BIGINT) AS below0,
        list(cell) FILTER (WHERE (cell < low0) < (cell <= last0)) AS inside0
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT CAST("fare" AS BIGINT) AS cell,
                (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                    AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
            FROM "taxis"."main"."trips"
        ) AS cells
            JOIN (
            SELECT unnest([(('Oslo') COLLATE "binary"), (('Bergen') COLLATE "binary"), (('Bodø')
                    COLLATE "binary")]) AS name,
                unnest(number::BIGINT[]) AS number
            FROM (
                VALUES ('[0, 1, 2]')
            ) AS texts(number)
        ) AS keys0 ON key0 = keys0.name
        WHERE cell IS NOT NULL
    ) AS kept
        JOIN (
        SELECT unnest(number::BIGINT[]) AS number,
            unnest(low0::BIGINT[]) AS low0,
            unnest(last0::BIGINT[]) AS last0,
            unnest(start0::DOUBLE[]) AS start0,
            unnest(first0::DOUBLE[]) AS first0,
            unnest(final0::DOUBLE[]) AS final0,
            unnest(width0::DOUBLE[]) AS width0
        FROM (
            VALUES ('[0, 1, 2]',
                    '[-9223372036854775808, -9223372036854775808, -9223372036854775808]',
                    '[9223372036854775807, 9223372036854775807, 9223372036854775807]',
                    '[-14.609375, -14.609375, -14.609375]', '[-6.8046875, -6.8046875, -6.8046875]',
                    '[1007.8046875, 1007.8046875, 1007.8046875]',
                    '[15.609375, 15.609375, 15.609375]')
        ) AS texts(number, low0, last0, start0, first0, final0, width0)
    ) AS limits ON grp = limits.number
    GROUP BY grp
),
cells0 AS MATERIALIZED (
    SELECT grp,
        raw,
        floor((least(greatest(CAST(raw AS DOUBLE), first0), final0) - start0) / width0) AS bucket
    FROM (
        SELECT grp, cell AS raw, start0, first0, final0, width0
        FROM (
            SELECT grp, unnest(inside0) AS cell
            FROM scanned
        ) AS unnested
            JOIN (
            SELECT unnest(number::BIGINT[]) AS number,
                unnest(low0::BIGINT[]) AS low0,
                unnest(last0::BIGINT[]) AS last0,
                unnest(start0::DOUBLE[]) AS start0,
                unnest(first0::DOUBLE[]) AS first0,
                unnest(final0::DOUBLE[]) AS final0,
                unnest(width0::DOUBLE[]) AS width0
            FROM (
                VALUES ('[0, 1, 2]',
                        '[-9223372036854775808, -9223372036854775808, -9223372036854775808]',
                        '[9223372036854775807, 9223372036854775807, 9223372036854775807]',
                        '[-14.609375, -14.609375, -14.609375]',
                        '[-6.8046875, -6.8046875, -6.8046875]',
                        '[1007.8046875, 1007.8046875, 1007.8046875]',
                        '[15.609375, 15.609375, 15.609375]')
            ) AS texts(number, low0, last0, start0, first0, final0, width0)
        ) AS limits ON grp = limits.number
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
