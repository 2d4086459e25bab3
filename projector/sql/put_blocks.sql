-- A test case that was measured in turns before, beside the same artifact on the same machine, stays as it is.
INSERT INTO block ({block})
SELECT {block}
FROM {block[]} AS came
ON CONFLICT DO NOTHING
