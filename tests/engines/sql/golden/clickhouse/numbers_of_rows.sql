SELECT grp, count(*) AS n
FROM (
    SELECT cell, keys0.number * 1 AS grp
    FROM (
        SELECT toInt64(`fare`) AS cell,
            (CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`) END) <=
                40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END END END) AS key0
        FROM `default`.`trips`
        WHERE (coalesce(((((CASE WHEN length(CASE WHEN isValidUTF8(toString(`city`)) THEN toString(`city`)
                END) <= 40000 THEN CASE WHEN lengthUTF8(CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END) <= 10000 THEN CASE WHEN isValidUTF8(toString(`city`)) THEN
                toString(`city`) END END END)) = unhex('4f736c6f')) AND ((toInt64(`day`)) >= (19723))),
                FALSE))
    ) AS cells
        JOIN (
        SELECT listed.1 AS name, listed.2 AS number
        FROM (
            SELECT arrayJoin(arrayZip([unhex('4f736c6f'), unhex('42657267656e'), unhex('426f64c3b8')],
                    [0, 1, 2])) AS listed
        )
    ) AS keys0 ON key0 = keys0.name
    WHERE cell IS NOT NULL
) AS kept
GROUP BY grp;
