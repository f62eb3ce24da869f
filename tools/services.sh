#!/bin/sh
# What the tests need from the system's packages: the server programs of PostgreSQL, Java 17 or newer for Spark, tmux for the shell.
# Without the rights to install them their tests skip and say so; with POSTRI_REQUIRE_ALL=1 they fail.
set -eu

missing=""
command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
java_version=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || true
[ "${java_version:-0}" -ge 17 ] || missing="$missing openjdk-17-jre-headless"
command -v tmux >/dev/null 2>&1 || missing="$missing tmux"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "not found:$missing (names of Debian's packages); install them by your system's means to run all tests" >&2
    exit 0
fi
become=""
if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "not found:$missing; run 'sudo apt-get install$missing' to run all tests" >&2
        exit 0
    fi
    become="sudo"
fi
export DEBIAN_FRONTEND=noninteractive
$become apt-get update --quiet --quiet
# shellcheck disable=SC2086  # the names are words of their own
$become apt-get install --quiet --quiet --yes --no-install-recommends $missing >/dev/null
