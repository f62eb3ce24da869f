SELECT grp,
    size,
    cell0 AS raw0,
    cell1 AS raw1,
    cell2 AS raw2,
    cell3 AS raw3,
    cell4 AS raw4,
    cell5 AS raw5,
    cell6 AS raw6,
    cell7 AS raw7,
    cell8 AS raw8,
    cell9 AS raw9,
    cell10 AS raw10,
    cell11 AS raw11,
    cell12 AS raw12,
    cell13 AS raw13,
    cell14 AS raw14,
    cell15 AS raw15,
    cell16 AS raw16,
    cell17 AS raw17,
    cell18 AS raw18,
    cell19 AS raw19,
    cell20 AS raw20,
    cell21 AS raw21,
    cell22 AS raw22,
    cell23 AS raw23
FROM (
    SELECT grp,
        count(*) AS size,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49837710646246763D *
            count(*))) AS INT)) AS cell0,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49679921292493534D *
            count(*))) AS INT)) AS cell1,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49355342584987066D *
            count(*))) AS INT)) AS cell2,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4919755323123383D * count(*)))
            AS INT)) AS cell3,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.48872974523727364D *
            count(*))) AS INT)) AS cell4,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4839060646246766D * count(*)))
            AS INT)) AS cell5,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.47747449047454726D *
            count(*))) AS INT)) AS cell6,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4634723006579517D * count(*)))
            AS INT)) AS cell7,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.45018950089720683D *
            count(*))) AS INT)) AS cell8,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4169825014953447D * count(*)))
            AS INT)) AS cell9,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.33396500299068943D *
            count(*))) AS INT)) AS cell10,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.10151600717765474D *
            count(*))) AS INT)) AS cell11,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5016228935375323D * count(*)))
            AS INT)) AS cell12,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5032007870750647D * count(*)))
            AS INT)) AS cell13,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5064465741501294D * count(*)))
            AS INT)) AS cell14,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5080244676876617D * count(*)))
            AS INT)) AS cell15,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5112702547627264D * count(*)))
            AS INT)) AS cell16,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5160939353753234D * count(*)))
            AS INT)) AS cell17,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5225255095254527D * count(*)))
            AS INT)) AS cell18,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5365276993420484D * count(*)))
            AS INT)) AS cell19,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5498104991027931D * count(*)))
            AS INT)) AS cell20,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5830174985046552D * count(*)))
            AS INT)) AS cell21,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.6660349970093106D * count(*)))
            AS INT)) AS cell22,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.8984839928223453D * count(*)))
            AS INT)) AS cell23
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT CAST(`fare` AS BIGINT) AS cell,
                (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN char_length(CAST(`city`
                    AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END END) AS key0
            FROM {source} TABLESAMPLE (0.116039721 PERCENT) REPEATABLE (1) AS sampled
        ) AS cells
            JOIN (
            VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1), (CAST(X'426f64c3b8'
                    AS STRING), 2)
        ) AS keys0(name, number) ON key0 = keys0.name
        WHERE cell IS NOT NULL
    ) AS kept
    GROUP BY grp
) AS tallied;

SELECT grp, -1 AS target, held, place, doubt, number, upto, n
FROM (
    SELECT grp,
        held,
        place,
        doubt,
        number,
        CAST(sum(number) OVER (PARTITION BY grp ORDER BY level, place, doubt ROWS UNBOUNDED
            PRECEDING) AS BIGINT) AS upto,
        CAST(sum(number) OVER (PARTITION BY grp) AS BIGINT) AS n
    FROM (
        SELECT grp, level, held, place, doubt, count(*) AS number
        FROM (
            SELECT grp,
                level,
                held,
                CASE WHEN held = 1 THEN CAST(raw AS BIGINT) ELSE CAST(0 AS BIGINT) END AS place,
                CASE WHEN held = 1 THEN 0 ELSE 0 END AS doubt
            FROM (
                SELECT grp,
                    cell AS raw,
                    CASE WHEN cell >= low0 THEN 1 ELSE 0 END + CASE WHEN cell > last0 THEN 1 ELSE 0
                        END AS level,
                    CASE WHEN (cell >= low0 AND cell <= last0) THEN 1 ELSE 0 END AS held
                FROM (
                    SELECT cell, keys0.number * 1 AS grp
                    FROM (
                        SELECT CAST(`fare` AS BIGINT) AS cell,
                            (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN
                                char_length(CAST(`city` AS STRING)) <= 10000 THEN CAST(`city` AS
                                STRING) END END) AS key0
                        FROM {source}
                    ) AS cells
                        JOIN (
                        VALUES (CAST(X'4f736c6f' AS STRING), 0), (CAST(X'42657267656e' AS STRING), 1),
                                (CAST(X'426f64c3b8' AS STRING), 2)
                    ) AS keys0(name, number) ON key0 = keys0.name
                    WHERE cell IS NOT NULL
                ) AS kept
                    JOIN (
                    VALUES (0, CAST(492 AS BIGINT), CAST(508 AS BIGINT), 489.9999999999998D,
                            490.9999999999999D, 509.0000000000001D, 2.0000000000002274D), (1, CAST(492
                            AS BIGINT), CAST(508 AS BIGINT), 489.9999999999998D, 490.9999999999999D,
                            509.0000000000001D, 2.0000000000002274D), (2, CAST(492 AS BIGINT), CAST(508
                            AS BIGINT), 489.9999999999998D, 490.9999999999999D, 509.0000000000001D,
                            2.0000000000002274D)
                ) AS limits(number, low0, last0, start0, first0, final0, width0) ON grp =
                        limits.number
            ) AS leveled
        ) AS keyed
        GROUP BY grp, level, held, place, doubt
    ) AS counted
) AS ranked
WHERE held = 0 OR (upto >= (0.5D * n - 54) AND upto - number <= (0.5D * n + 54));
