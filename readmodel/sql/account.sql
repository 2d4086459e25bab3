SELECT {account} FROM account WHERE name = $1
