SELECT DISTINCT raw
FROM (
    SELECT CAST(cell AS double precision) AS raw, grp, unit
    FROM (
        SELECT cell, 0 AS grp, unit
        FROM (
            SELECT "tip" AS cell,
                (CASE WHEN octet_length((CAST("rider" AS text) COLLATE "C")) <= 40000 THEN CASE WHEN
                    char_length((CAST("rider" AS text) COLLATE "C")) <= 10000 THEN (CAST("rider" AS
                    text) COLLATE "C") END END COLLATE "C") AS unit
            FROM "public"."trips"
        ) AS cells
        WHERE cell < 'NaN' AND unit IS NOT NULL
    ) AS kept
) AS raws
WHERE CASE WHEN raw < '0.005'::double precision THEN FALSE WHEN raw >= '99.995'::double precision
        THEN FALSE ELSE NOT (abs(((raw - '0.0'::double precision) / '0.01'::double precision) -
        floor(((raw - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double precision))
        < '0.49999999999111644'::double precision) END;

SELECT grp, place, number, upto, total
FROM (
    SELECT grp,
        place,
        number,
        CAST(sum(number) OVER (PARTITION BY grp ORDER BY place ROWS UNBOUNDED PRECEDING) AS bigint)
            AS upto,
        CAST(sum(number) OVER (PARTITION BY grp) AS bigint) AS total
    FROM (
        SELECT grp, place, count(*) AS number
        FROM (
            SELECT grp, place
            FROM (
                SELECT grp,
                    place,
                    row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || CAST(CAST(place
                        AS numeric) + 0 AS text) || ':' || CAST(CAST(grp AS numeric) + 0 AS text))))
                        AS turn
                FROM (
                    SELECT grp,
                        unit,
                        CAST(CASE WHEN CASE WHEN raw < '0.005'::double precision THEN FALSE WHEN raw
                            >= '99.995'::double precision THEN FALSE ELSE NOT (abs(((raw - '0.0'::double
                            precision) / '0.01'::double precision) - floor(((raw - '0.0'::double
                            precision) / '0.01'::double precision) + '0.5'::double precision)) <
                            '0.49999999999111644'::double precision) END THEN sought ELSE CAST(CASE
                            WHEN raw < '0.005'::double precision THEN '0'::double precision WHEN raw
                            >= '99.995'::double precision THEN '10000'::double precision WHEN (abs(((raw
                            - '0.0'::double precision) / '0.01'::double precision) - floor(((raw -
                            '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
                            precision)) < '0.49999999999111644'::double precision) THEN floor(((raw
                            - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
                            precision) ELSE floor(((raw - '0.0'::double precision) / '0.01'::double
                            precision)) + '0.5'::double precision END AS bigint) END AS bigint) AS
                            place
                    FROM (
                        SELECT CAST(cell AS double precision) AS raw, grp, unit
                        FROM (
                            SELECT cell, 0 AS grp, unit
                            FROM (
                                SELECT "tip" AS cell,
                                    (CASE WHEN octet_length((CAST("rider" AS text) COLLATE "C")) <=
                                        40000 THEN CASE WHEN char_length((CAST("rider" AS text)
                                        COLLATE "C")) <= 10000 THEN (CAST("rider" AS text) COLLATE
                                        "C") END END COLLATE "C") AS unit
                                FROM "public"."trips"
                            ) AS cells
                            WHERE cell < 'NaN' AND unit IS NOT NULL
                        ) AS kept
                    ) AS raws
                        LEFT JOIN (
                        VALUES ('12.345'::double precision, 1235)
                    ) AS doubts(cell, sought) ON raw = cell
                ) AS numbered
            ) AS turns
            WHERE turn <= 3
        ) AS bounded
        GROUP BY grp, place
    ) AS counted
) AS ranked
WHERE (upto >= 0.5 * total - 54 AND upto - number <= 0.5 * total + 54);
