SELECT grp,
    count(place0) AS n0,
    coalesce(CAST(div(sum(place0), 281474976710656) AS bigint), 0) AS high0,
    coalesce(CAST(mod(sum(place0), 281474976710656) AS bigint), 0) AS low0,
    count(place1) AS n1,
    coalesce(CAST(div(sum(place1), 281474976710656) AS bigint), 0) AS high1,
    coalesce(CAST(mod(sum(place1), 281474976710656) AS bigint), 0) AS low1,
    count(raw1) AS cells1
FROM (
    SELECT grp,
        CAST(CASE WHEN raw0 > 1000 THEN 1000 ELSE CASE WHEN raw0 < 0 THEN 0 ELSE raw0 END END AS
            bigint) AS place0,
        CASE WHEN NOT CASE WHEN raw1 < '0.005'::double precision THEN FALSE WHEN raw1 >= '99.995'::double
            precision THEN FALSE ELSE NOT (abs(((raw1 - '0.0'::double precision) / '0.01'::double
            precision) - floor(((raw1 - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
            precision)) < '0.49999999999111644'::double precision) END THEN CAST(CASE WHEN raw1 <
            '0.005'::double precision THEN '0'::double precision WHEN raw1 >= '99.995'::double
            precision THEN '10000'::double precision WHEN (abs(((raw1 - '0.0'::double precision) /
            '0.01'::double precision) - floor(((raw1 - '0.0'::double precision) / '0.01'::double
            precision) + '0.5'::double precision)) < '0.49999999999111644'::double precision) THEN
            floor(((raw1 - '0.0'::double precision) / '0.01'::double precision) + '0.5'::double
            precision) ELSE floor(((raw1 - '0.0'::double precision) / '0.01'::double precision)) +
            '0.5'::double precision END AS bigint) END AS place1,
        raw1 AS raw1
    FROM (
        SELECT grp,
            CAST(cell0 AS bigint) AS raw0,
            CASE WHEN cell1 < 'NaN' THEN CAST(cell1 AS double precision) END AS raw1
        FROM (
            SELECT cell0, cell1, keys0.number * 1 AS grp
            FROM (
                SELECT "fare" AS cell0,
                    "tip" AS cell1,
                    (CASE WHEN octet_length((CAST("city" AS text) COLLATE "C")) <= 40000 THEN CASE
                        WHEN char_length((CAST("city" AS text) COLLATE "C")) <= 10000 THEN (CAST("city"
                        AS text) COLLATE "C") END END COLLATE "C") AS key0
                FROM "public"."trips"
            ) AS cells
                JOIN unnest(ARRAY[(CAST(E'Oslo' AS text) COLLATE "C"), (CAST(E'Bergen' AS text)
                    COLLATE "C"), (CAST(E'Bodø' AS text) COLLATE "C")], ARRAY[0, 1, 2]) AS keys0(name,
                    number) ON key0 = keys0.name
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
