SELECT {attempt a}
FROM collector_config c
CROSS JOIN LATERAL (SELECT * FROM attempt WHERE collector = c.name ORDER BY token DESC LIMIT 10) AS a
ORDER BY a.token DESC
