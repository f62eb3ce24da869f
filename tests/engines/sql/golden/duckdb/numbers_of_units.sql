SELECT grp, count(*) AS n
FROM (
    SELECT grp, place
    FROM (
        SELECT grp,
            place,
            row_number() OVER (PARTITION BY unit ORDER BY md5((unit || ':' || (('') COLLATE "binary")
                || ':' || CAST(CAST(grp AS HUGEINT) + 0 AS VARCHAR)))) AS turn
        FROM (
            SELECT DISTINCT grp, unit, 0 AS place
            FROM (
                SELECT keys0.number * 1 AS grp, unit
                FROM (
                    SELECT (CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary")) <= 10000
                            THEN (CAST("city" AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS
                            key0,
                        (CASE WHEN length((CAST("rider" AS VARCHAR) COLLATE "binary")) <= 10000 THEN
                            (CAST("rider" AS VARCHAR) COLLATE "binary") END COLLATE "binary") AS
                            unit
                    FROM "taxis"."main"."trips"
                    WHERE (coalesce(((((CASE WHEN length((CAST("city" AS VARCHAR) COLLATE "binary"))
                            <= 10000 THEN (CAST("city" AS VARCHAR) COLLATE "binary") END COLLATE
                            "binary")) = (('Oslo') COLLATE "binary")) AND ((date_diff('day', DATE
                            '1970-01-01', CASE WHEN "day" > DATE '9999-12-31' THEN DATE '9999-12-31'
                            WHEN "day" < DATE '0001-01-01' THEN DATE '0001-01-01' ELSE "day" END))
                            >= (19723))), FALSE))
                ) AS cells
                    JOIN (
                    SELECT unnest([(('Oslo') COLLATE "binary"), (('Bergen') COLLATE "binary"), (('Bodø')
                            COLLATE "binary")]) AS name,
                        unnest(number::BIGINT[]) AS number
                    FROM (
                        VALUES ('[0, 1, 2]')
                    ) AS texts(number)
                ) AS keys0 ON key0 = keys0.name
                WHERE unit IS NOT NULL
            ) AS kept
        ) AS numbered
    ) AS turns
    WHERE turn <= 3
) AS bounded
GROUP BY grp;
