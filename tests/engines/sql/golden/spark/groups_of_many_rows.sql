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
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4993084176532934D * count(*)))
            AS INT)) AS cell0,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4986618353065868D * count(*)))
            AS INT)) AS cell1,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49727867061317366D *
            count(*))) AS INT)) AS cell2,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49663208826646704D *
            count(*))) AS INT)) AS cell3,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49524892357305383D *
            count(*))) AS INT)) AS cell4,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49321917653293407D *
            count(*))) AS INT)) AS cell5,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4905128471461077D * count(*)))
            AS INT)) AS cell6,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.48489727235682994D *
            count(*))) AS INT)) AS cell7,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.47940537139567724D *
            count(*))) AS INT)) AS cell8,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.46567561899279536D *
            count(*))) AS INT)) AS cell9,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4313512379855907D * count(*)))
            AS INT)) AS cell10,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.3352429711654178D * count(*)))
            AS INT)) AS cell11,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5006915823467066D * count(*)))
            AS INT)) AS cell12,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5013381646934132D * count(*)))
            AS INT)) AS cell13,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5027213293868263D * count(*)))
            AS INT)) AS cell14,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.503367911733533D * count(*)))
            AS INT)) AS cell15,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5047510764269462D * count(*)))
            AS INT)) AS cell16,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5067808234670659D * count(*)))
            AS INT)) AS cell17,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5094871528538923D * count(*)))
            AS INT)) AS cell18,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.51510272764317D * count(*)))
            AS INT)) AS cell19,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5205946286043228D * count(*)))
            AS INT)) AS cell20,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5343243810072046D * count(*)))
            AS INT)) AS cell21,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5686487620144093D * count(*)))
            AS INT)) AS cell22,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.6647570288345822D * count(*)))
            AS INT)) AS cell23
    FROM (
        SELECT cell, keys0.number * 1 AS grp
        FROM (
            SELECT CAST(`fare` AS BIGINT) AS cell,
                (CASE WHEN octet_length(CAST(`city` AS STRING)) <= 40000 THEN CASE WHEN char_length(CAST(`city`
                    AS STRING)) <= 10000 THEN CAST(`city` AS STRING) END END) AS key0
            FROM {source} TABLESAMPLE (0.655360000 PERCENT) REPEATABLE (1) AS sampled
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
