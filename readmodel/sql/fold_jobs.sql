-- Jobs of a request but for samples, or those of one of its graphs: what failed first, then what is skipped, then by what is
-- left to do.
SELECT {job_queue j}
FROM job_queue j
WHERE (@graph::bigint < 0 AND j.request_id = @request AND j.sample = ''
       OR @graph >= 0 AND j.job_id IN (SELECT n.job_id FROM graph_job n WHERE n.request_id = @request AND n.graph = @graph))
  AND (@kind = '' OR j.kind = @kind) AND (@target = '' OR j.target = @target) AND (@set::bigint < 0 OR j."set" = @set)
ORDER BY CASE
             WHEN j.state = 'failure' THEN 0
             WHEN j.held = 'skipped' THEN 1
             WHEN j.state = 'cancelled' THEN 2
             WHEN j.state = 'in_progress' THEN 3
             WHEN j.state = 'success' THEN 6
             WHEN j.held <> '' THEN 5
             ELSE 4
         END, j.created_seq, j.ordinal
LIMIT @limit OFFSET @offset
