SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT least(half, 7) AS bucket
    FROM (
        SELECT grp,
            raw,
            2 * half + CASE WHEN raw >= CAST(split('1 4 16 64', ' ') AS ARRAY<BIGINT>)[half] THEN 1
                ELSE 0 END AS half
        FROM (
            SELECT grp,
                raw,
                2 * half + CASE WHEN raw >= CAST(split('2 32', ' ') AS ARRAY<BIGINT>)[half] THEN 1
                    ELSE 0 END AS half
            FROM (
                SELECT grp,
                    raw,
                    2 * half + CASE WHEN raw >= CAST(split('8', ' ') AS ARRAY<BIGINT>)[half] THEN 1
                        ELSE 0 END AS half
                FROM (
                    SELECT grp, raw, 0 AS half
                    FROM (
                        SELECT cell AS raw, grp
                        FROM (
                            SELECT cell, 0 AS grp
                            FROM (
                                SELECT CAST(`fare` AS BIGINT) AS cell
                                FROM {source}
                            ) AS cells
                            WHERE cell IS NOT NULL
                        ) AS kept
                    ) AS raws
                ) AS undivided
            ) AS halved
        ) AS halved
    ) AS halved
) AS placed
GROUP BY bucket;
