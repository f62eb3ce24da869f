SELECT grp,
    count(*) AS n,
    CAST(sum(place) // 281474976710656 AS BIGINT) AS high,
    CAST(sum(place) % 281474976710656 AS BIGINT) AS low,
    CAST(sum(((place - (place // 2147483648) * 2147483648) * (place - (place // 2147483648) *
        2147483648))) // 281474976710656 AS BIGINT) AS high1,
    CAST(sum(((place - (place // 2147483648) * 2147483648) * (place - (place // 2147483648) *
        2147483648))) % 281474976710656 AS BIGINT) AS low1,
    CAST(sum(((place // 2147483648) * (place - (place // 2147483648) * 2147483648))) //
        281474976710656 AS BIGINT) AS high2,
    CAST(sum(((place // 2147483648) * (place - (place // 2147483648) * 2147483648))) %
        281474976710656 AS BIGINT) AS low2,
    CAST(sum(((place // 2147483648) * (place // 2147483648))) // 281474976710656 AS BIGINT) AS high3,
    CAST(sum(((place // 2147483648) * (place // 2147483648))) % 281474976710656 AS BIGINT) AS low3
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
                FROM source
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
