-- A device that nobody confirmed, and then more than 2,000 leave the account.
SELECT *
FROM neel(
  '
    PATTERN SEQ(NewDevice d, !Confirm c, Transfer+ t[])
    WHERE [account] AND sum(t[].amount) > 2000
    WITHIN 30 MINUTES
    USING SKIP TILL NEXT MATCH
    RETURN d.account, d.ts AS device, t[last].ts AS alarm, sum(t[].amount) AS total
  ',
  TABLE({{ ref("events") }}),
  type => 'kind'
)
