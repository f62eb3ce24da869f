"""What can be asked of a table: one module a statistic, and the registry that finds them."""
