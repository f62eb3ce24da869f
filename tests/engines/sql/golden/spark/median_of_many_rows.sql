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
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49906668223327744D *
            count(*))) AS INT)) AS cell0,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49814836446655486D *
            count(*))) AS INT)) AS cell1,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4962817289331098D * count(*)))
            AS INT)) AS cell2,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4953634111663872D * count(*)))
            AS INT)) AS cell3,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4934967756329421D * count(*)))
            AS INT)) AS cell4,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.49071182233277444D *
            count(*))) AS INT)) AS cell5,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4869985512658842D * count(*)))
            AS INT)) AS cell6,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.47919232862665817D *
            count(*))) AS INT)) AS cell7,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.47162590267271565D *
            count(*))) AS INT)) AS cell8,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.45270983778785945D *
            count(*))) AS INT)) AS cell9,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.4054196755757189D * count(*)))
            AS INT)) AS cell10,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.27300722138172534D *
            count(*))) AS INT)) AS cell11,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5009333177667226D * count(*)))
            AS INT)) AS cell12,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5018516355334451D * count(*)))
            AS INT)) AS cell13,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5037182710668903D * count(*)))
            AS INT)) AS cell14,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5046365888336127D * count(*)))
            AS INT)) AS cell15,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5065032243670579D * count(*)))
            AS INT)) AS cell16,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5092881776672256D * count(*)))
            AS INT)) AS cell17,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5130014487341158D * count(*)))
            AS INT)) AS cell18,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5208076713733418D * count(*)))
            AS INT)) AS cell19,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5283740973272844D * count(*)))
            AS INT)) AS cell20,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5472901622121406D * count(*)))
            AS INT)) AS cell21,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.5945803244242811D * count(*)))
            AS INT)) AS cell22,
        element_at(array_sort(collect_list(cell)), CAST(greatest(1, ceil(0.7269927786182746D * count(*)))
            AS INT)) AS cell23
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT CAST(`fare` AS BIGINT) AS cell
            FROM {source} TABLESAMPLE (0.116039721 PERCENT) REPEATABLE (1) AS sampled
        ) AS cells
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
                SELECT 0 AS grp,
                    cell AS raw,
                    CASE WHEN cell >= CAST(492 AS BIGINT) THEN 1 ELSE 0 END + CASE WHEN cell > CAST(508
                        AS BIGINT) THEN 1 ELSE 0 END AS level,
                    CASE WHEN (cell >= CAST(492 AS BIGINT) AND cell <= CAST(508 AS BIGINT)) THEN 1
                        ELSE 0 END AS held
                FROM (
                    SELECT cell, 0 AS grp
                    FROM (
                        SELECT CAST(`fare` AS BIGINT) AS cell
                        FROM {source}
                    ) AS cells
                    WHERE cell IS NOT NULL
                ) AS kept
            ) AS leveled
        ) AS keyed
        GROUP BY grp, level, held, place, doubt
    ) AS counted
) AS ranked
WHERE held = 0 OR (upto >= (0.5D * n - 54) AND upto - number <= (0.5D * n + 54));
