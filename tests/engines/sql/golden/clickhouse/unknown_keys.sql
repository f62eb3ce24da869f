SELECT name AS sent, count(*) AS n
FROM (
    SELECT key0 AS name
    FROM (
        SELECT (CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END)
                <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END END END) AS key0
        FROM `default`.`trips`
        WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`)
                END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END END END)) = unhex('4f736c6f')) AND ((toInt64(`day`)) >= (19723))),
                FALSE))
    ) AS cells
    WHERE key0 IS NOT NULL
) AS named
GROUP BY name;
