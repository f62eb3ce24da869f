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
        SELECT unnest(grp::BIGINT[]) AS grp, unnest(at0::BIGINT[]) AS at0
        FROM (
            VALUES ('[0, 1, 2]', '[499, 499, 499]')
        ) AS texts(grp, at0)
    ) AS limits
)
SELECT grp, count(*) AS n, CAST(coalesce(sum(cell < at0), 0) AS BIGINT) AS below0
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
GROUP BY grp;

WITH stretches0 AS MATERIALIZED (
    SELECT *
    FROM (
        SELECT unnest(grp::BIGINT[]) AS grp,
            unnest(n::BIGINT[]) AS n,
            unnest(below::BIGINT[]) AS below,
            unnest(first::BIGINT[]) AS first,
            unnest(last::BIGINT[]) AS last,
            unnest(point::BIGINT[]) AS point
        FROM (
            VALUES ('[0, 1, 2]', '[1000000, 1000000, 1000000]', '[499990, 499990, 499990]',
                    '[497, 497, 497]', '[501, 501, 501]', '[499, 499, 499]')
        ) AS texts(grp, n, below, first, last, point)
    ) AS lists
),
beside0 AS MATERIALIZED (
    SELECT named.*, first, last, point
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
    SELECT TRY_CAST(grp * 4 + 2 * TRY_CAST(floor((CAST(raw AS DOUBLE) - '497.0'::DOUBLE) /
            '4.000000000000455'::DOUBLE) AS SMALLINT) + CASE WHEN cell < point THEN 0 ELSE 1 END AS
            USMALLINT) AS code,
        raw
    FROM (
        SELECT *, TRY_CAST(cell AS INTEGER) AS raw
        FROM (
            SELECT cell, grp, first, last, point
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell,
                    (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000 THEN (CAST("city"
                        AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS key0
                FROM "taxis"."main"."trips"
            ) AS cells
                JOIN beside0 AS beside ON key0 = name0
            WHERE cell IS NOT NULL
        ) AS kept
        WHERE (cell < first) < (cell <= last) AND cell >= CAST(497 AS BIGINT) AND cell <= CAST(501
                AS BIGINT)
    ) AS raws
),
buckets0 AS MATERIALIZED (
    SELECT grp,
        n,
        '4.000000000000455'::DOUBLE AS width,
        code,
        bucket,
        number,
        below + sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING) - sum(CASE
            WHEN bucket % 2 = 0 THEN number ELSE 0 END) OVER (PARTITION BY grp) AS upto
    FROM (
        SELECT CAST(code // 4 AS BIGINT) AS grp, CAST(code % 4 AS INTEGER) AS bucket, code, number
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
        sum(number) <= least(270, '1.5'::DOUBLE * any_value(width) * ((max(bucket) - min(bucket)) //
            2 + 1)) AS is_few
    FROM buckets0
        JOIN chosen0 USING (grp)
    WHERE bucket >= first_bucket AND bucket <= last_bucket
    GROUP BY grp
),
near0 AS MATERIALIZED (
    SELECT grp, code, unders0.n, under, is_few
    FROM buckets0
        JOIN chosen0 USING (grp)
        JOIN unders0 USING (grp)
    WHERE bucket >= first_bucket AND bucket <= last_bucket
),
window0 AS MATERIALIZED (
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
            SELECT grp,
                any_value(n) AS n,
                any_value(under) AS under,
                place,
                0 AS doubt,
                count(*) AS number
            FROM (
                SELECT grp, n, under, CAST(CAST(raw AS BIGINT) AS INTEGER) AS place, 0 AS doubt
                FROM gathered0
                    JOIN (
                    FROM near0
                    WHERE NOT is_few
                ) AS many USING (code)
            ) AS keyed
            GROUP BY grp, place
        ) AS counted
    ) AS ranked
    WHERE held = 0 OR (upto >= ('0.5'::DOUBLE * n - 54) AND upto - number <= ('0.5'::DOUBLE * n + 54))
)
SELECT CAST(grp AS INTEGER) AS run,
    CAST(CAST(raw AS BIGINT) AS INTEGER) AS place,
    -1 - under AS upto
FROM gathered0
    JOIN (
    FROM near0
    WHERE is_few
) AS few USING (code)
UNION ALL
SELECT CAST(grp AS INTEGER) AS run, place, upto
FROM window0
UNION ALL
SELECT CAST(grp AS INTEGER) AS run, min(place) AS place, min(upto - number) AS upto
FROM window0
GROUP BY grp;
