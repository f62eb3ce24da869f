#!/bin/sh
# The role as which the service connects to its ledger: PostgreSQL's image runs this once, when it makes the database.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$(cat /run/secrets/service_password)" \
    --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'END'
CREATE ROLE postri_service LOGIN PASSWORD :'password';
END
