#!/bin/sh
# The service with TLS before it, step by step. The containers of compose.yaml take the same steps, each its own; without containers
#     POSTRI_HOME=/srv/postri deploy/run.sh
# takes all of them, and ends in order when it is told to (SIGTERM, SIGINT).
#
#     run.sh ledger     the tables of a ledger in PostgreSQL, and what its service may do there; as the owner of the database
#     run.sh prepare    the ledger's line in the policy, a check, a certificate, the first steward's token: what is there stays
#     run.sh serve      prepare, then postri serve
#     run.sh proxy      nginx with TLS before it, or before several
#     run.sh all        prepare, serve and proxy (the default)
set -eu
umask 077

POSTRI_HOME=${POSTRI_HOME:-/srv/postri}                        # the policy, and what belongs to it
POSTRI_POLICY=${POSTRI_POLICY:-$POSTRI_HOME/postri.toml}
POSTRI_LEDGER=${POSTRI_LEDGER:-}                               # a file, or postgresql://...; empty: what the policy says
POSTRI_LEDGER_PASSWORD_FILE=${POSTRI_LEDGER_PASSWORD_FILE:-}   # the password of the ledger's database
POSTRI_LEDGER_OWNER=${POSTRI_LEDGER_OWNER:-}                   # for the step `ledger`: the database as its owner
POSTRI_LEDGER_ROLE=${POSTRI_LEDGER_ROLE:-postri_service}       # and as whom the service connects
POSTRI_PROGRAM=${POSTRI_PROGRAM:-postri}
POSTRI_PYTHON=${POSTRI_PYTHON:-python3}                        # for the step `ledger`: the Python that has postri's database driver
POSTRI_HOST=${POSTRI_HOST:-127.0.0.1}                          # where the service listens, behind nginx
POSTRI_PORT=${POSTRI_PORT:-8765}
POSTRI_UPSTREAM=${POSTRI_UPSTREAM:-$POSTRI_HOST:$POSTRI_PORT}  # where nginx finds it
POSTRI_REPLICAS=${POSTRI_REPLICAS:-}                           # or where it finds several on one ledger: "host:port host:port"
POSTRI_LISTEN=${POSTRI_LISTEN:-8443}                           # where nginx listens
POSTRI_SERVER_NAME=${POSTRI_SERVER_NAME:-localhost}            # the name that analysts know
POSTRI_TLS=${POSTRI_TLS:-$POSTRI_HOME/tls}                     # certificate.pem and private-key.pem
POSTRI_TEMPLATE=${POSTRI_TEMPLATE:-$(dirname "$0")/nginx.conf.template}
export POSTRI_POLICY

say() {
    echo "run: $*" >&2
}

stop_with() {
    say "$*"
    exit 2
}

# ---- steps

read_password() {
    [ -n "$POSTRI_LEDGER_PASSWORD_FILE" ] || return 0
    PGPASSWORD=$(cat "$POSTRI_LEDGER_PASSWORD_FILE")
    export PGPASSWORD
}

make_ledger() {
    [ -n "$POSTRI_LEDGER_OWNER" ] || stop_with "say by POSTRI_LEDGER_OWNER which database, as its owner: postgresql://owner@host/database"
    read_password
    grants=$($POSTRI_PROGRAM ledger init "$POSTRI_LEDGER_OWNER" --role "$POSTRI_LEDGER_ROLE")
    # Through the environment: no file is left behind.
    POSTRI_GRANTS=$grants POSTRI_LEDGER_OWNER=$POSTRI_LEDGER_OWNER $POSTRI_PYTHON -c '
import os, sys, psycopg
try:
    with psycopg.connect(os.environ["POSTRI_LEDGER_OWNER"]) as connection:
        connection.execute(os.environ["POSTRI_GRANTS"])
except psycopg.errors.UndefinedObject:
    sys.exit(2)
' || stop_with "there is no role $POSTRI_LEDGER_ROLE that could be given its rights: make it (CREATE ROLE ... LOGIN), or name another by POSTRI_LEDGER_ROLE"
    say "the ledger is there, and $POSTRI_LEDGER_ROLE may read it and add to it"
}

use_ledger() {
    [ -f "$POSTRI_POLICY" ] || stop_with "there is no policy at $POSTRI_POLICY: 'postri init DATA' writes a first one"
    read_password
    [ -n "$POSTRI_LEDGER" ] || return 0
    line="ledger = \"$POSTRI_LEDGER\""
    if grep -q '^ledger *=' "$POSTRI_POLICY"; then
        # Another ledger knows nothing of what was spent: that is for the steward to decide.
        grep -qxF "$line" "$POSTRI_POLICY" ||
            stop_with "the policy names another ledger than POSTRI_LEDGER: move it with 'postri ledger copy', then write $line"
        return 0
    fi
    say "the policy's ledger is $POSTRI_LEDGER from now on"
    new="$POSTRI_POLICY.new"
    { echo "$line"; cat "$POSTRI_POLICY"; } >"$new"
    mv "$new" "$POSTRI_POLICY"
}

make_certificate() {
    mkdir -p "$POSTRI_TLS"
    [ ! -f "$POSTRI_TLS/certificate.pem" ] || return 0
    say "making a certificate that signs itself: put one that clients trust into $POSTRI_TLS"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
        -subj "/CN=$POSTRI_SERVER_NAME" -addext "subjectAltName=DNS:$POSTRI_SERVER_NAME" \
        -keyout "$POSTRI_TLS/private-key.pem" -out "$POSTRI_TLS/certificate.pem" 2>/dev/null
}

make_steward() {
    [ -z "$($POSTRI_PROGRAM token list)" ] || return 0
    $POSTRI_PROGRAM token add steward --role steward >"$POSTRI_HOME/steward.token"
    say "the first steward's token is in $POSTRI_HOME/steward.token: keep it as a password, and delete the file"
}

prepare() {
    use_ledger
    $POSTRI_PROGRAM check >&2
    make_certificate
    make_steward
}

serve() {
    exec $POSTRI_PROGRAM serve "$POSTRI_POLICY" --host "$POSTRI_HOST" --port "$POSTRI_PORT"
}

# nginx in the foreground, with all that it writes in a folder of its own.
proxy() {
    make_certificate
    folder="$POSTRI_HOME/nginx"
    mkdir -p "$folder"
    : >"$folder/replicas.conf"
    if [ -n "$POSTRI_REPLICAS" ]; then
        POSTRI_UPSTREAM=postri_replicas
        {
            echo "upstream $POSTRI_UPSTREAM {"
            # Where the fewest questions run; one that has gone away is left alone for a second.
            echo "    least_conn;"
            for replica in $POSTRI_REPLICAS; do
                echo "    server $replica max_fails=1 fail_timeout=1s;"
            done
            echo "}"
        } >"$folder/replicas.conf"
    fi
    sed -e "s|\${POSTRI_LISTEN}|$POSTRI_LISTEN|" -e "s|\${POSTRI_SERVER_NAME}|$POSTRI_SERVER_NAME|" \
        -e "s|\${POSTRI_TLS}|$POSTRI_TLS|" -e "s|\${POSTRI_UPSTREAM}|$POSTRI_UPSTREAM|" \
        "$POSTRI_TEMPLATE" >"$folder/server.conf"
    cat >"$folder/nginx.conf" <<END
pid $folder/nginx.pid;
error_log stderr warn;
events {}
http {
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    include $folder/replicas.conf;
    include $folder/server.conf;
}
END
    exec nginx -p "$folder" -c "$folder/nginx.conf" -e stderr -g "daemon off;"
}

all() {
    prepare
    (serve) &
    service=$!
    (proxy) &
    proxy=$!
    # First nobody new comes in, then questions are finished.
    trap 'trap "" TERM INT; kill -QUIT "$proxy" 2>/dev/null || true; kill -TERM "$service" 2>/dev/null || true' TERM
    # A terminal has told both already, and a second signal would not wait for questions.
    trap 'trap "" TERM INT' INT
    say "https://$POSTRI_SERVER_NAME on $POSTRI_LISTEN; SIGTERM ends it"
    # If the service ends, so does the whole.
    status=0
    while kill -0 "$service" 2>/dev/null; do
        wait "$service" && status=0 || status=$?
    done
    kill -QUIT "$proxy" 2>/dev/null || true
    wait "$proxy" || true
    exit "$status"
}

case "${1:-all}" in
    ledger) make_ledger ;;
    prepare) prepare ;;
    serve) prepare && serve ;;
    proxy) proxy ;;
    all) all ;;
    *) stop_with "there is ledger, prepare, serve, proxy and all, not '$1'" ;;
esac
