SELECT grp,
    count(*) AS n,
    CAST(div(sum(place), 281474976710656) AS bigint) AS high,
    CAST(mod(sum(place), 281474976710656) AS bigint) AS low,
    CAST(div(sum(((place - (CAST(place AS bigint) / 2147483648) * 2147483648) * (place - (CAST(place
        AS bigint) / 2147483648) * 2147483648))), 281474976710656) AS bigint) AS high1,
    CAST(mod(sum(((place - (CAST(place AS bigint) / 2147483648) * 2147483648) * (place - (CAST(place
        AS bigint) / 2147483648) * 2147483648))), 281474976710656) AS bigint) AS low1,
    CAST(div(sum(((CAST(place AS bigint) / 2147483648) * (place - (CAST(place AS bigint) /
        2147483648) * 2147483648))), 281474976710656) AS bigint) AS high2,
    CAST(mod(sum(((CAST(place AS bigint) / 2147483648) * (place - (CAST(place AS bigint) /
        2147483648) * 2147483648))), 281474976710656) AS bigint) AS low2,
    CAST(div(sum(((CAST(place AS bigint) / 2147483648) * (CAST(place AS bigint) / 2147483648))),
        281474976710656) AS bigint) AS high3,
    CAST(mod(sum(((CAST(place AS bigint) / 2147483648) * (CAST(place AS bigint) / 2147483648))),
        281474976710656) AS bigint) AS low3
FROM (
    SELECT grp,
        CAST(CASE WHEN raw > 1099511627776 THEN 1099511627776 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw
            END END AS bigint) AS place
    FROM (
        SELECT CAST(cell AS bigint) AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT "fare" AS cell
                FROM "public"."trips"
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered
GROUP BY grp;
