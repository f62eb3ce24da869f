SELECT 0 AS grp,
    count(place0) AS n0,
    coalesce(CAST(sum(place0) // 281474976710656 AS BIGINT), 0) AS high0,
    coalesce(CAST(sum(place0) % 281474976710656 AS BIGINT), 0) AS low0,
    count(place1) AS n1,
    coalesce(CAST(sum(place1) // 281474976710656 AS BIGINT), 0) AS high1,
    coalesce(CAST(sum(place1) % 281474976710656 AS BIGINT), 0) AS low1,
    count(raw1) AS cells1
FROM (
    SELECT grp,
        CAST(CASE WHEN raw0 > 1000 THEN 1000 ELSE CASE WHEN raw0 < 0 THEN 0 ELSE raw0 END END AS
            BIGINT) AS place0,
        CASE WHEN NOT CASE WHEN raw1 < '0.005'::DOUBLE THEN FALSE WHEN raw1 >= '99.995'::DOUBLE THEN
            FALSE ELSE NOT (abs(((raw1 - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw1 - '0.0'::DOUBLE)
            / '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) END THEN CAST(CASE
            WHEN raw1 < '0.005'::DOUBLE THEN '0'::DOUBLE WHEN raw1 >= '99.995'::DOUBLE THEN '10000'::DOUBLE
            WHEN (abs(((raw1 - '0.0'::DOUBLE) / '0.01'::DOUBLE) - floor(((raw1 - '0.0'::DOUBLE) /
            '0.01'::DOUBLE) + '0.5'::DOUBLE)) < '0.49999999999111644'::DOUBLE) THEN floor(((raw1 -
            '0.0'::DOUBLE) / '0.01'::DOUBLE) + '0.5'::DOUBLE) ELSE floor(((raw1 - '0.0'::DOUBLE) /
            '0.01'::DOUBLE)) + '0.5'::DOUBLE END AS BIGINT) END AS place1,
        raw1 AS raw1
    FROM (
        SELECT grp,
            cell0 AS raw0,
            CASE WHEN (isfinite(cell1) OR isinf(cell1)) THEN cell1 END AS raw1
        FROM (
            SELECT cell0, cell1, 0 AS grp
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell0, CAST("tip" AS DOUBLE) AS cell1
                FROM "taxis"."main"."trips"
                WHERE (coalesce(((((CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <=
                        10000 THEN (CAST("city" AS VARCHAR) COLLATE "binary") END COLLATE "binary"))
                        = (('Oslo') COLLATE "binary")) AND ((date_diff('day', DATE '1970-01-01',
                        CASE WHEN "day" > DATE '9999-12-31' THEN DATE '9999-12-31' WHEN "day" < DATE
                        '0001-01-01' THEN DATE '0001-01-01' ELSE "day" END)) >= (19723))), FALSE))
            ) AS cells
        ) AS kept
    ) AS raws
) AS numbered;
