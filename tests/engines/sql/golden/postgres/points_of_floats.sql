SELECT 0 AS grp, bucket, count(*) AS number
FROM (
    SELECT width_bucket(cell, ARRAY['0.9950000000000001'::double precision, '1.995'::double
            precision, '2.995'::double precision, '3.995'::double precision, '4.995'::double
            precision, '5.995'::double precision, '6.995'::double precision, '7.995'::double
            precision, '8.995000000000001'::double precision]) AS bucket
    FROM (
        SELECT cell, 0 AS grp
        FROM (
            SELECT "tip" AS cell
            FROM "public"."trips"
        ) AS cells
        WHERE cell < 'NaN'
    ) AS kept
) AS placed
GROUP BY bucket;
