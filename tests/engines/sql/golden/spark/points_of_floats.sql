SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT least(half, 9) AS bucket
    FROM (
        SELECT grp,
            raw,
            2 * half + CASE WHEN raw >= CAST(split('0.9950000000000001 2.995 4.995 6.995 8.995000000000001 8.995000000000001 8.995000000000001 8.995000000000001',
                ' ') AS ARRAY<DOUBLE>)[half] THEN 1 ELSE 0 END AS half
        FROM (
            SELECT grp,
                raw,
                2 * half + CASE WHEN raw >= CAST(split('1.995 5.995 8.995000000000001 8.995000000000001',
                    ' ') AS ARRAY<DOUBLE>)[half] THEN 1 ELSE 0 END AS half
            FROM (
                SELECT grp,
                    raw,
                    2 * half + CASE WHEN raw >= CAST(split('3.995 8.995000000000001', ' ') AS
                        ARRAY<DOUBLE>)[half] THEN 1 ELSE 0 END AS half
                FROM (
                    SELECT grp,
                        raw,
                        2 * half + CASE WHEN raw >= CAST(split('7.995', ' ') AS ARRAY<DOUBLE>)[half]
                            THEN 1 ELSE 0 END AS half
                    FROM (
                        SELECT grp, raw, 0 AS half
                        FROM (
                            SELECT cell AS raw, grp
                            FROM (
                                SELECT cell, 0 AS grp
                                FROM (
                                    SELECT CAST(`tip` AS DOUBLE) AS cell
                                    FROM {source}
                                ) AS cells
                                WHERE (cell IS NOT NULL AND NOT isnan(cell))
                            ) AS kept
                        ) AS raws
                    ) AS undivided
                ) AS halved
            ) AS halved
        ) AS halved
    ) AS halved
) AS placed
GROUP BY bucket;
