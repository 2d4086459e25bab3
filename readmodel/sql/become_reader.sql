-- Gives up all rights but those of the readers' role, if this user may take that role.
SELECT set_config('role', 'tacho_reader', false)
FROM pg_roles
WHERE rolname = 'tacho_reader' AND pg_has_role(oid, 'member')
