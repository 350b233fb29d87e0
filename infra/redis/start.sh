#!/bin/sh
# Starts Redis with the users of users.acl. Their passwords come from the environment; the server gets only their digests.
#   start.sh <template> <file for the users> <arguments of redis-server>
set -eu
template=$1
users=$2
shift 2

digest() {
  printf %s "$1" | sha256sum | cut -d ' ' -f 1
}

umask 077
# A user is one line for Redis.
awk '/^#/ || NF == 0 { next } /^user / { printf "%s%s", line, $0; line = "\n"; next } { $1 = $1; printf " %s", $0 } END { print "" }' \
  "$template" |
  sed -e "s/@REDIS_API_PASSWORD@/$(digest "$REDIS_API_PASSWORD")/" \
    -e "s/@REDIS_WORKER_PASSWORD@/$(digest "$REDIS_WORKER_PASSWORD")/" \
    -e "s/@REDIS_OPERATOR_PASSWORD@/$(digest "$REDIS_OPERATOR_PASSWORD")/" > "$users"

exec env -u REDIS_API_PASSWORD -u REDIS_WORKER_PASSWORD -u REDIS_OPERATOR_PASSWORD \
  redis-server "$@" --aclfile "$users"
