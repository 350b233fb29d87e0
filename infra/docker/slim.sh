#!/bin/sh
# Run in an image after npm ci: removes what the program never reads from node_modules, and writes npm.cdx.json, the list of
# the modules that stay, for bill.mjs.
#   slim.sh <api or worker>
set -eu
# An optional peer dependency that only the build uses; npm installs it all the same.
rm -rf node_modules/typescript node_modules/@typescript
# Source maps and types are for people and compilers.
find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
# ONNX Runtime ships its library for every platform; an image needs one of them.
runtime=node_modules/onnxruntime-node/bin/napi-v6
if [ -d "$runtime" ]; then
  arch=$(node -p process.arch)
  find "$runtime" -mindepth 1 -maxdepth 1 ! -name linux -exec rm -r {} +
  find "$runtime/linux" -mindepth 1 -maxdepth 1 ! -name "$arch" -exec rm -r {} +
fi
# From the lock file, because the other workspaces are not installed here; bill.mjs leaves out what is not there.
npm sbom --package-lock-only --omit=dev --omit=peer --workspace="@lehr/$1" --sbom-format=cyclonedx > npm.cdx.json
