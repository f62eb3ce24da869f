"""The program `postri`, whose scans with DuckDB last for hours, whatever the file holds."""

from __future__ import annotations

from postri.cli import main, output
from postri.engines.duckdb import source

# DuckDB knows how far it is, and needs no memory and no disk for it.
FOR_HOURS = "SELECT count(*) AS x FROM range(1000000000000) AS t(x) WHERE hash(x) = 1"


def run_for_hours(work, connection):
    """In place of a scan: a query that DuckDB runs, shows and stops as it does any other."""
    return scan(lambda: connection.execute(FOR_HOURS).fetchnumpy(), connection)


scan = source.run_query
source.run_query = run_for_hours
# The bar comes at once.
output.PATIENCE = 0.0

if __name__ == "__main__":
    main()
