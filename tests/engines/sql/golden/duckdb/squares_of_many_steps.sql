SELECT 0 AS grp,
    count(*) AS n,
    coalesce(CAST(sum(place) // 281474976710656 AS BIGINT), 0) AS high,
    coalesce(CAST(sum(place) % 281474976710656 AS BIGINT), 0) AS low,
    coalesce(CAST(sum(((place - (place // 2147483648) * 2147483648) * (place - (place // 2147483648)
        * 2147483648))) // 281474976710656 AS BIGINT), 0) AS high1,
    coalesce(CAST(sum(((place - (place // 2147483648) * 2147483648) * (place - (place // 2147483648)
        * 2147483648))) % 281474976710656 AS BIGINT), 0) AS low1,
    coalesce(CAST(sum(((place // 2147483648) * (place - (place // 2147483648) * 2147483648))) //
        281474976710656 AS BIGINT), 0) AS high2,
    coalesce(CAST(sum(((place // 2147483648) * (place - (place // 2147483648) * 2147483648))) %
        281474976710656 AS BIGINT), 0) AS low2,
    coalesce(CAST(sum(((place // 2147483648) * (place // 2147483648))) // 281474976710656 AS BIGINT),
        0) AS high3,
    coalesce(CAST(sum(((place // 2147483648) * (place // 2147483648))) % 281474976710656 AS BIGINT),
        0) AS low3
FROM (
    SELECT grp,
        CAST(CASE WHEN raw > 1099511627776 THEN 1099511627776 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw
            END END AS BIGINT) AS place
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT CAST("fare" AS BIGINT) AS cell
                FROM "taxis"."main"."trips"
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered;
