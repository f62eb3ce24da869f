#!/bin/sh
# What the tests need from outside: from the system's packages the server programs of PostgreSQL, Java 17 or newer for Spark, tmux for the shell,
# Chromium for the page, nginx for the service behind TLS, and npm; from npm's registry axe, which checks the page. It goes into build/axe.
# Without the rights to install them their tests skip and say so; with POSTRI_REQUIRE_ALL=1 they fail.
set -eu

install_packages() {
    missing=""
    command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
    java_version=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || true
    [ "${java_version:-0}" -ge 17 ] || missing="$missing openjdk-17-jre-headless"
    for program in tmux chromium npm; do
        command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
    done
    command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || missing="$missing nginx-light"
    [ -n "$missing" ] || return 0

    if ! command -v apt-get >/dev/null 2>&1; then
        echo "not found:$missing (names of Debian's packages); install them by your system's means to run all tests" >&2
        return 0
    fi
    become=""
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "not found:$missing; run 'sudo apt-get install$missing' to run all tests" >&2
            return 0
        fi
        become="sudo"
    fi
    export DEBIAN_FRONTEND=noninteractive
    $become apt-get update --quiet --quiet
    # shellcheck disable=SC2086  # the names are words of their own
    $become apt-get install --quiet --quiet --yes --no-install-recommends $missing >/dev/null
}

install_axe() {
    command -v npm >/dev/null 2>&1 || return 0
    folder="$(dirname "$0")/../build/axe"
    mkdir -p "$folder"
    npm install --silent --no-save --no-audit --no-fund --prefix "$folder" axe-core@4.14.0 ||
        echo "axe-core did not come from npm's registry: the tests of the page need it" >&2
}

install_packages
install_axe
