#!/bin/sh
# Prints the Secrets that the chart refers to, with new random values:
#
#   sh infra/helm/secrets.sh | kubectl create -n lehr -f -
#
# "create" and not "apply": other values would make the stored keys and webhook secrets useless. Keep a copy of them in a safe
# place. For a Redis or a bucket elsewhere, set these before: REDIS_API_URL and REDIS_WORKER_URL (rediss://user:password@host:6379),
# and AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or NO_STORE_KEYS=1 where a role gives access to the bucket.
set -eu

# Half of a pair would make Secrets for two different servers.
[ -z "${REDIS_API_URL:-}" ] || : "${REDIS_WORKER_URL:?must be set with REDIS_API_URL}"
[ -z "${REDIS_WORKER_URL:-}" ] || : "${REDIS_API_URL:?must be set with REDIS_WORKER_URL}"
[ -z "${AWS_ACCESS_KEY_ID:-}" ] || : "${AWS_SECRET_ACCESS_KEY:?must be set with AWS_ACCESS_KEY_ID}"
[ -z "${AWS_SECRET_ACCESS_KEY:-}" ] || : "${AWS_ACCESS_KEY_ID:?must be set with AWS_SECRET_ACCESS_KEY}"

random() {
  openssl rand -hex 24
}

api_password=$(random)
worker_password=$(random)
operator_password=$(random)
api_key=$(random)
key_pepper=$(random)
secret_key=$(random)
store_secret=$(random)
store_id=${AWS_ACCESS_KEY_ID:-lehr}
store_key=${AWS_SECRET_ACCESS_KEY:-$(random)}

cat << END
apiVersion: v1
kind: Secret
metadata: { name: lehr-api }
stringData:
  LEHR_API_KEY: "$api_key"
  LEHR_KEY_PEPPER: "$key_pepper"
  LEHR_SECRET_KEY: "$secret_key"
  LEHR_STORE_SECRET: "$store_secret"
  LEHR_REDIS_URL: "${REDIS_API_URL:-redis://api:$api_password@lehr-redis:6379}"
---
apiVersion: v1
kind: Secret
metadata: { name: lehr-worker }
stringData:
  LEHR_REDIS_URL: "${REDIS_WORKER_URL:-redis://worker:$worker_password@lehr-redis:6379}"
END

if [ -z "${REDIS_API_URL:-}" ]; then
  cat << END
---
apiVersion: v1
kind: Secret
metadata: { name: lehr-redis }
stringData:
  REDIS_API_PASSWORD: "$api_password"
  REDIS_WORKER_PASSWORD: "$worker_password"
  REDIS_OPERATOR_PASSWORD: "$operator_password"
END
fi

if [ -z "${NO_STORE_KEYS:-}" ]; then
  cat << END
---
apiVersion: v1
kind: Secret
metadata: { name: lehr-store }
stringData:
  AWS_ACCESS_KEY_ID: "$store_id"
  AWS_SECRET_ACCESS_KEY: "$store_key"
END
fi
