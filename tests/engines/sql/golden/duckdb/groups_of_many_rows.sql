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
        quantile_disc(cell, [0.49974579201730635, 0.49953658403461265, 0.49902816806922534,
            0.49881896008653165, 0.49831054412114434, 0.4975929201730633, 0.4966360882422886,
            0.49469574737878613, 0.4927669282437993, 0.48794488040633216, 0.47588976081266426,
            0.44213542595039423, 0.5002542079826937, 0.5004634159653873, 0.5009718319307747,
            0.5011810399134683, 0.5016894558788557, 0.5024070798269367, 0.5033639117577113,
            0.5053042526212138, 0.5072330717562007, 0.5120551195936679, 0.5241102391873357,
            0.5578645740496058]) AS found
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT CAST("fare" AS BIGINT) AS cell,
                (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                    AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
            FROM (
                SELECT *
                FROM "taxis"."main"."trips" USING SAMPLE 5.242880% (system)
            ) AS sampled
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
    GROUP BY grp
) AS tallied;

WITH limits AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT unnest(grp::BIGINT[]) AS grp,
            unnest(size0::BIGINT[]) AS size0,
            unnest(origin0::DOUBLE[]) AS origin0,
            unnest(reached0::DOUBLE[]) AS reached0,
            unnest(lows0::BIGINT[][]) AS lows0,
            unnest(highs0::BIGINT[][]) AS highs0,
            unnest(at0::BIGINT[]) AS at0,
            unnest(before0::BIGINT[]) AS before0,
            unnest(least0::DOUBLE[]) AS least0,
            unnest(most0::DOUBLE[]) AS most0,
            unnest(width0::DOUBLE[]) AS width0
        FROM (
            VALUES ('[0, 1, 2]', '[60000, 60000, 60000]', '[0.499746, 0.499746, 0.499746]',
                    '[0.499746, 0.499746, 0.499746]',
                    '[[499, 498, 497, 496, 495, 494, 493, 492, 491, 490], [499, 498, 497, 496, 495, 494, 493, 492, 491, 490], [499, 498, 497, 496, 495, 494, 493, 492, 491, 490]]',
                    '[[501, 502, 503, 504, 505, 506, 507, 508, 509, 510], [501, 502, 503, 504, 505, 506, 507, 508, 509, 510], [501, 502, 503, 504, 505, 506, 507, 508, 509, 510]]',
                    '[499, 499, 499]', '[498, 498, 498]',
                    '[487.9999999999998, 487.9999999999998, 487.9999999999998]',
                    '[512.0000000000002, 512.0000000000002, 512.0000000000002]',
                    '[4.000000000000455, 4.000000000000455, 4.000000000000455]')
        ) AS texts(grp, size0, origin0, reached0, lows0, highs0, at0, before0, least0, most0, width0)
    ) AS limits
),
scanned AS MATERIALIZED (
    SELECT grp, count(*) AS n, count_if(cell < at0) AS below0
    FROM (
        SELECT cell, grp, at0
        FROM (
            SELECT CAST("fare" AS BIGINT) AS cell,
                (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                    AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
            FROM "taxis"."main"."trips"
        ) AS cells
            JOIN (
            SELECT named.*, at0
            FROM (
                SELECT keys0.name AS name0, keys0.number * 1 AS grp
                FROM (
                    SELECT unnest([(('Oslo') COLLATE "binary"), (('Bergen') COLLATE "binary"), (('Bodø')
                            COLLATE "binary")]) AS name,
                        unnest(number::BIGINT[]) AS number
                    FROM (
                        VALUES ('[0, 1, 2]')
                    ) AS texts(number)
                ) AS keys0
            ) AS named
                JOIN limits AS others USING (grp)
        ) AS beside ON key0 = name0
        WHERE cell IS NOT NULL
    ) AS kept
    GROUP BY grp
),
stretches0 AS MATERIALIZED (
    SELECT *,
        least(greatest(CAST(first AS DOUBLE), least), most) AS start,
        greatest((least(greatest(CAST(last AS DOUBLE), least), most) - least(greatest(CAST(first AS
            DOUBLE), least), most)) / 256, width) AS bucket_width
    FROM (
        SELECT grp,
            n,
            below,
            at0 AS point,
            CASE WHEN below < ('0.5'::DOUBLE * n - 54) THEN at0 ELSE least(at0, lows0[least(len(list_filter('[0.00025420798269366977, 0.00046341596538733947, 0.000971831930774679, 0.0011810399134683488, 0.0016894558788556882, 0.0024070798269366974, 0.003363911757711376, 0.0053042526212138605, 0.007233071756200718, 0.012055119593667864, 0.02411023918733573, 0.057864574049605745]'::DOUBLE[],
                lambda spare: spare < down)) + 1, len(lows0))]) END AS first,
            CASE WHEN below > ('0.5'::DOUBLE * n + 54) THEN before0 ELSE greatest(before0,
                highs0[least(len(list_filter('[0.00025420798269366977, 0.00046341596538733947, 0.000971831930774679, 0.0011810399134683488, 0.0016894558788556882, 0.0024070798269366974, 0.003363911757711376, 0.0053042526212138605, 0.007233071756200718, 0.012055119593667864, 0.02411023918733573, 0.057864574049605745]'::DOUBLE[],
                lambda spare: spare < up)) + 1, len(highs0))]) END AS last,
            least0 AS least,
            most0 AS most,
            width0 AS width
        FROM (
            SELECT *,
                ('0.5'::DOUBLE - origin0 - (('0.5'::DOUBLE * n - 54) - below) / greatest(n, 1) + (4
                    * sqrt(abs(('0.5'::DOUBLE * n - 54) - below) / greatest(n, 1) * size + 4) + 1) /
                    size) AS down,
                (reached0 + (('0.5'::DOUBLE * n + 54) - below) / greatest(n, 1) - '0.5'::DOUBLE + (4
                    * sqrt(abs(('0.5'::DOUBLE * n + 54) - below) / greatest(n, 1) * size + 4) + 1) /
                    size) AS up
            FROM (
                SELECT *, below0 AS below, greatest(size0, 1) AS size
                FROM scanned
                    JOIN limits USING (grp)
            ) AS sampled
            WHERE n * '0.0524288'::DOUBLE <= 4 * size0 + 64
        ) AS aimed
    ) AS stretches
),
beside0 AS MATERIALIZED (
    SELECT named.*, point, first, last, start, bucket_width, least, most
    FROM (
        SELECT keys0.name AS name0, keys0.number * 1 AS grp
        FROM (
            SELECT unnest([(('Oslo') COLLATE "binary"), (('Bergen') COLLATE "binary"), (('Bodø')
                    COLLATE "binary")]) AS name,
                unnest(number::BIGINT[]) AS number
            FROM (
                VALUES ('[0, 1, 2]')
            ) AS texts(number)
        ) AS keys0
    ) AS named
        JOIN stretches0 AS others USING (grp)
),
gathered0 AS MATERIALIZED (
    SELECT grp * 1024 + 2 * CAST(floor((least(greatest(CAST(raw AS DOUBLE), least), most) - start) /
            bucket_width) AS INTEGER) + CASE WHEN cell < point THEN 0 ELSE 1 END AS code,
        raw
    FROM (
        SELECT *, cell AS raw
        FROM (
            SELECT cell, grp, point, first, last, start, bucket_width, least, most
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell,
                    (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                        AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
                FROM "taxis"."main"."trips"
            ) AS cells
                JOIN beside0 AS beside ON key0 = name0
            WHERE cell IS NOT NULL
        ) AS kept
        WHERE cell >= first AND cell <= last AND cell >= CAST(490 AS BIGINT) AND cell <= CAST(510 AS
                BIGINT)
    ) AS raws
),
buckets0 AS MATERIALIZED (
    SELECT grp,
        n,
        code,
        bucket,
        number,
        below + sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING) - sum(CASE
            WHEN bucket % 2 = 0 THEN number ELSE 0 END) OVER (PARTITION BY grp) AS upto
    FROM (
        SELECT code // 1024 AS grp, code % 1024 AS bucket, code, number
        FROM (
            SELECT code, count(*) AS number
            FROM gathered0
            GROUP BY code
        ) AS numbers
    ) AS counts
        JOIN stretches0 USING (grp)
),
chosen0 AS MATERIALIZED (
    SELECT grp,
        min(CASE WHEN upto >= ('0.5'::DOUBLE * n - 54) THEN bucket END) - 4 AS first_bucket,
        max(CASE WHEN upto - number <= ('0.5'::DOUBLE * n + 54) THEN bucket END) + 4 AS last_bucket
    FROM buckets0
    GROUP BY grp
),
unders0 AS MATERIALIZED (
    SELECT grp,
        any_value(n) AS n,
        CAST(min(upto - number) AS BIGINT) AS under,
        sum(CASE WHEN bucket <= last_bucket THEN number END) AS near
    FROM buckets0
        JOIN chosen0 USING (grp)
    WHERE bucket >= first_bucket
    GROUP BY grp
),
counted0 AS MATERIALIZED (
    SELECT grp, place, 0 AS doubt, count(*) AS number
    FROM (
        SELECT grp, CAST(raw AS BIGINT) AS place, 0 AS doubt
        FROM (
            SELECT grp, raw
            FROM gathered0
                JOIN (
                SELECT grp, code
                FROM buckets0
                    JOIN chosen0 USING (grp)
                WHERE bucket >= first_bucket AND bucket <= last_bucket
            ) AS codes USING (code)
        ) AS near
    ) AS keyed
    GROUP BY grp, place
)
SELECT grp, 0 AS target, 2 AS held, place, doubt, number, 0 AS upto, 0 AS n
FROM counted0
    SEMI JOIN (
    FROM unders0
    WHERE near <= 270
) AS few USING (grp)
UNION ALL
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
    FROM counted0
        JOIN (
        FROM unders0
        WHERE near > 270
    ) AS many USING (grp)
) AS ranked
WHERE held = 0 OR (upto >= ('0.5'::DOUBLE * n - 54) AND upto - number <= ('0.5'::DOUBLE * n + 54))
UNION ALL
SELECT grp, 0, 0, CAST(0 AS BIGINT), 0, 0, coalesce(under, 0), scanned.n
FROM scanned
    LEFT JOIN unders0 USING (grp);
