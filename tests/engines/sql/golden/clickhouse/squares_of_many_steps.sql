SELECT 0 AS grp,
    count(*) AS n,
    coalesce(CAST(intDiv(sum(toInt128(place)), 281474976710656) AS Int64), 0) AS high,
    coalesce(CAST(sum(toInt128(place)) % 281474976710656 AS Int64), 0) AS low,
    coalesce(CAST(intDiv(sum(toInt128(((place - intDiv(place, 2147483648) * 2147483648) * (place -
        intDiv(place, 2147483648) * 2147483648)))), 281474976710656) AS Int64), 0) AS high1,
    coalesce(CAST(sum(toInt128(((place - intDiv(place, 2147483648) * 2147483648) * (place - intDiv(place,
        2147483648) * 2147483648)))) % 281474976710656 AS Int64), 0) AS low1,
    coalesce(CAST(intDiv(sum(toInt128((intDiv(place, 2147483648) * (place - intDiv(place, 2147483648)
        * 2147483648)))), 281474976710656) AS Int64), 0) AS high2,
    coalesce(CAST(sum(toInt128((intDiv(place, 2147483648) * (place - intDiv(place, 2147483648) *
        2147483648)))) % 281474976710656 AS Int64), 0) AS low2,
    coalesce(CAST(intDiv(sum(toInt128((intDiv(place, 2147483648) * intDiv(place, 2147483648)))),
        281474976710656) AS Int64), 0) AS high3,
    coalesce(CAST(sum(toInt128((intDiv(place, 2147483648) * intDiv(place, 2147483648)))) %
        281474976710656 AS Int64), 0) AS low3
FROM (
    SELECT grp,
        CAST(CASE WHEN raw > 1099511627776 THEN 1099511627776 ELSE CASE WHEN raw < 0 THEN 0 ELSE raw
            END END AS Int64) AS place
    FROM (
        SELECT cell AS raw, grp
        FROM (
            SELECT cell, 0 AS grp
            FROM (
                SELECT toInt64(`fare`) AS cell
                FROM `default`.`trips`
            ) AS cells
            WHERE cell IS NOT NULL
        ) AS kept
    ) AS raws
) AS numbered;
