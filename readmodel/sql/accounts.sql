SELECT {account} FROM account WHERE name > $1 ORDER BY name LIMIT $2
