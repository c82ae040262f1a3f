-- An insurer's tables: 2,000 policies and 60,000 claims, the same on every machine.
CREATE TABLE policy (
  policy_id integer PRIMARY KEY,
  holder text NOT NULL,
  began date NOT NULL
);
CREATE TABLE claim (
  claim_id integer PRIMARY KEY,
  policy_id integer NOT NULL REFERENCES policy (policy_id),
  happened date NOT NULL,
  amount numeric(10, 2) NOT NULL
);
CREATE INDEX ON claim (policy_id);
CREATE INDEX ON claim (amount);

INSERT INTO policy
SELECT one, 'H' || lpad(one::text, 4, '0'), date '2024-01-01' + (one * 37) % 600
FROM generate_series(1, 2000) AS one;

INSERT INTO claim
SELECT
  one,
  (one * 7919) % 2000 + 1,
  date '2024-01-01' + ((one * 7919) % 2000 * 37 + 37) % 600 + (one * 53) % 400,
  (((one::bigint * one % 9973) * 61) % 600000)::numeric / 100
FROM generate_series(1, 60000) AS one;

ANALYZE;
