SELECT DISTINCT raw
FROM (
    SELECT cell AS raw, grp, unit
    FROM (
        SELECT cell, 0 AS grp, unit
        FROM (
            SELECT CAST(`tip` AS DOUBLE) AS cell,
                (CASE WHEN octet_length(CAST(`rider` AS STRING)) <= 40000 THEN CASE WHEN char_length(CAST(`rider`
                    AS STRING)) <= 10000 THEN CAST(`rider` AS STRING) END END) AS unit
            FROM {source}
        ) AS cells
        WHERE (cell IS NOT NULL AND NOT isnan(cell)) AND unit IS NOT NULL
    ) AS kept
) AS raws
WHERE CASE WHEN raw < 0.005D THEN FALSE WHEN raw >= 99.995D THEN FALSE ELSE NOT (abs(((raw - 0.0D) /
        0.01D) - (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D)
        > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) END;

SELECT grp, place, number, upto, total
FROM (
    SELECT grp,
        place,
        number,
        CAST(sum(number) OVER (PARTITION BY grp ORDER BY place ROWS UNBOUNDED PRECEDING) AS BIGINT)
            AS upto,
        CAST(sum(number) OVER (PARTITION BY grp) AS BIGINT) AS total
    FROM (
        SELECT grp, place, count(*) AS number
        FROM (
            SELECT grp, place
            FROM (
                SELECT grp,
                    place,
                    row_number() OVER (PARTITION BY unit ORDER BY md5(CAST(concat_ws(':', unit, CAST(CAST(place
                        AS DECIMAL(38,0)) + CAST(0 AS DECIMAL(20,0)) AS STRING), CAST(CAST(grp AS
                        DECIMAL(38,0)) + CAST(0 AS DECIMAL(20,0)) AS STRING)) AS BINARY))) AS turn
                FROM (
                    SELECT grp,
                        unit,
                        CAST(CASE WHEN CASE WHEN raw < 0.005D THEN FALSE WHEN raw >= 99.995D THEN
                            FALSE ELSE NOT (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) / 0.01D)
                            + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw - 0.0D)
                            / 0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) END THEN
                            sought ELSE CAST(CASE WHEN raw < 0.005D THEN 0.0D WHEN raw >= 99.995D
                            THEN 10000.0D WHEN (abs(((raw - 0.0D) / 0.01D) - (rint(((raw - 0.0D) /
                            0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) / 0.01D) + 0.5D) > ((raw -
                            0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END)) < 0.49999999999111644D) THEN
                            (rint(((raw - 0.0D) / 0.01D) + 0.5D) - CASE WHEN rint(((raw - 0.0D) /
                            0.01D) + 0.5D) > ((raw - 0.0D) / 0.01D) + 0.5D THEN 1D ELSE 0D END) ELSE
                            (rint(((raw - 0.0D) / 0.01D)) - CASE WHEN rint(((raw - 0.0D) / 0.01D)) >
                            ((raw - 0.0D) / 0.01D) THEN 1D ELSE 0D END) + 0.5D END AS BIGINT) END AS
                            BIGINT) AS place
                    FROM (
                        SELECT cell AS raw, grp, unit
                        FROM (
                            SELECT cell, 0 AS grp, unit
                            FROM (
                                SELECT CAST(`tip` AS DOUBLE) AS cell,
                                    (CASE WHEN octet_length(CAST(`rider` AS STRING)) <= 40000 THEN
                                        CASE WHEN char_length(CAST(`rider` AS STRING)) <= 10000 THEN
                                        CAST(`rider` AS STRING) END END) AS unit
                                FROM {source}
                            ) AS cells
                            WHERE (cell IS NOT NULL AND NOT isnan(cell)) AND unit IS NOT NULL
                        ) AS kept
                    ) AS raws
                        LEFT JOIN (
                        VALUES (12.345D, 1235)
                    ) AS doubts(cell, sought) ON raw = cell
                ) AS numbered
            ) AS turns
            WHERE turn <= 3
        ) AS bounded
        GROUP BY grp, place
    ) AS counted
) AS ranked
WHERE (upto >= 0.5 * total - 54 AND upto - number <= 0.5 * total + 54);
