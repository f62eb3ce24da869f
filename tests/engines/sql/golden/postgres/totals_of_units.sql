SELECT 0 AS grp,
    count(*) AS n,
    coalesce(CAST(div(sum(place), 281474976710656) AS bigint), 0) AS high,
    coalesce(CAST(mod(sum(place), 281474976710656) AS bigint), 0) AS low
FROM (
    SELECT grp, place
    FROM (
        SELECT grp,
            place,
            row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || CAST(CAST(place AS
                numeric) + 0 AS text) || ':' || CAST(CAST(grp AS numeric) + 0 AS text)))) AS turn
        FROM (
            SELECT grp,
                unit,
                CAST(CASE WHEN raw > 1000 THEN 1000 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw END END
                    AS bigint) AS place
            FROM (
                SELECT CAST(cell AS bigint) AS raw, grp, unit
                FROM (
                    SELECT cell, 0 AS grp, unit
                    FROM (
                        SELECT "fare" AS cell,
                            (CASE WHEN octet_length((CAST("rider" AS text) COLLATE "C")) <= 40000
                                THEN CASE WHEN char_length((CAST("rider" AS text) COLLATE "C")) <=
                                10000 THEN (CAST("rider" AS text) COLLATE "C") END END COLLATE "C")
                                AS unit
                        FROM "public"."trips"
                    ) AS cells
                    WHERE cell IS NOT NULL AND unit IS NOT NULL
                ) AS kept
            ) AS raws
        ) AS numbered
    ) AS turns
    WHERE turn <= 3
) AS bounded;
