SELECT 0 AS grp,
    count(*) AS n,
    coalesce(CAST(div(sum(place), 281474976710656) AS bigint), 0) AS high,
    coalesce(CAST(mod(sum(place), 281474976710656) AS bigint), 0) AS low,
    coalesce(CAST(div(sum(((place - (CAST(place AS bigint) / 2147483648) * 2147483648) * (place - (CAST(place
        AS bigint) / 2147483648) * 2147483648))), 281474976710656) AS bigint), 0) AS high1,
    coalesce(CAST(mod(sum(((place - (CAST(place AS bigint) / 2147483648) * 2147483648) * (place - (CAST(place
        AS bigint) / 2147483648) * 2147483648))), 281474976710656) AS bigint), 0) AS low1,
    coalesce(CAST(div(sum(((CAST(place AS bigint) / 2147483648) * (place - (CAST(place AS bigint) /
        2147483648) * 2147483648))), 281474976710656) AS bigint), 0) AS high2,
    coalesce(CAST(mod(sum(((CAST(place AS bigint) / 2147483648) * (place - (CAST(place AS bigint) /
        2147483648) * 2147483648))), 281474976710656) AS bigint), 0) AS low2,
    coalesce(CAST(div(sum(((CAST(place AS bigint) / 2147483648) * (CAST(place AS bigint) /
        2147483648))), 281474976710656) AS bigint), 0) AS high3,
    coalesce(CAST(mod(sum(((CAST(place AS bigint) / 2147483648) * (CAST(place AS bigint) /
        2147483648))), 281474976710656) AS bigint), 0) AS low3
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
) AS numbered;
