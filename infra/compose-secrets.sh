#!/bin/sh
# Writes the secrets that compose.yaml requires into infra/.env, where docker compose finds them. A file that exists is kept:
# other secrets would make the stored keys and webhook secrets useless. Keep a copy of it in a safe place.
set -eu
file=${1:-$(dirname "$0")/.env}
if [ -e "$file" ]; then
  echo "$file exists and was not changed."
  exit 0
fi
umask 077
draft=$file.$$
trap 'rm -f "$draft"' EXIT
{
  echo "AWS_ACCESS_KEY_ID=lehr"
  for name in LEHR_API_KEY LEHR_KEY_PEPPER LEHR_SECRET_KEY LEHR_STORE_SECRET AWS_SECRET_ACCESS_KEY \
    REDIS_API_PASSWORD REDIS_WORKER_PASSWORD REDIS_OPERATOR_PASSWORD; do
    # An assignment of its own: set -e does not see a command that fails inside echo.
    secret=$(openssl rand -hex 24)
    echo "$name=$secret"
  done
} > "$draft"
mv "$draft" "$file"
echo "Wrote $file."
