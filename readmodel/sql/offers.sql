SELECT {machine} FROM machine
WHERE removed_at IS NULL
  AND EXISTS (SELECT FROM collector_config AS c WHERE c.machine = machine.name AND c.active AND c.removed_at IS NULL)
ORDER BY name
