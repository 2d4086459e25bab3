SELECT {attempt} FROM attempt WHERE state = 'running'
