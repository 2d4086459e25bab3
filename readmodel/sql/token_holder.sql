SELECT name FROM account WHERE token_digest = $1 AND token_digest <> '' ORDER BY name LIMIT 1
