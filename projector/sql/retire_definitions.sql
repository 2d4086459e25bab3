UPDATE definition SET current = false WHERE current AND suite = ANY ($1)
