"""Systems that answer the same questions as Hotrow, each driven by its own process."""
