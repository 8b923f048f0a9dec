SELECT d_account AS account, count(*) AS alarms, max(total) AS largest
FROM {{ ref("alarms") }}
GROUP BY d_account
