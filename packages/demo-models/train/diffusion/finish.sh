#!/bin/sh
# From a checkpoint to what is committed: the model folder, the parity fixtures, the contact sheet; then proves that torch and
# Lehr agree and prints the scores of 300 held-out prompts through Lehr. Under ten minutes on two idle cores.
#
#   ./finish.sh WORK            WORK is the folder that train.py --work was given
#   ./finish.sh WORK choices    also prints scores by guidance scale and by sampler, for models.yaml
set -eu
[ $# -ge 1 ] || { sed -n '2,6s/^# *//p' "$0"; exit 2; }
work=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../../../..")
python=${PYTHON:-/usr/bin/python3}
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}" PYTHONDONTWRITEBYTECODE=1

program() {
  node --conditions=lehr-source --import=./infra/local/typescript.mjs "$@"
}

cd "$here"
"$python" export.py --work "$work" --to ../../models/demo-diffusion --fixtures fixtures/parity
cd "$root"
npm run build
npx vitest run test/worker/demo-parity.test.ts
program lab/bench/demo-sheet.ts docs/demo-sheet.png
[ "${2:-}" != choices ] || program lab/bench/demo-choices.ts 60
npm run lab -- bench demo-diffusion
