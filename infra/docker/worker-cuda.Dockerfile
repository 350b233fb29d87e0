# A worker for one NVIDIA card. Build it from the repository's root, run it with the card:
#   docker build -f infra/docker/worker-cuda.Dockerfile -t lehr-worker-cuda .
#   docker run --gpus 1 ... lehr-worker-cuda
# infra/docker/README.md lists what is in the image, and docs/operating.md explains how to pin the base image.

ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS ffmpeg
COPY infra/docker/ffmpeg.sh infra/docker/
RUN sh infra/docker/ffmpeg.sh

FROM ${NODE_IMAGE} AS manifests
WORKDIR /lehr
COPY package.json package-lock.json .npmrc ./
COPY apps/api/package.json apps/api/
COPY apps/cli/package.json apps/cli/
COPY apps/studio/package.json apps/studio/
COPY apps/worker/package.json apps/worker/
COPY packages/shared/package.json packages/shared/
COPY packages/client/package.json packages/client/
COPY packages/client-types/package.json packages/client-types/
COPY packages/mcp/package.json packages/mcp/
COPY packages/onnx-model/package.json packages/onnx-model/
COPY packages/demo-models/package.json packages/demo-models/

FROM manifests AS build
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json turbo.json ./
COPY infra/local/copy-lua.mjs infra/local/
COPY packages packages
COPY apps/worker apps/worker
RUN npm run build -- --filter=@lehr/worker...

FROM manifests AS modules
COPY infra/docker/slim.sh infra/docker/
RUN npm ci --omit=dev --workspace=@lehr/worker --no-audit --no-fund && sh infra/docker/slim.sh worker

FROM ${NODE_IMAGE} AS cuda
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY infra/docker/cuda-requirements.txt infra/docker/
# pip refuses a file whose checksum is not in the list. Only libraries and licences stay; the names of Python and the headers go.
RUN python3 -m pip install --no-cache-dir --require-hashes --no-deps --only-binary=:all: --target /cuda \
      --python-version 3.12 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
      --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 --platform manylinux1_x86_64 \
      -r infra/docker/cuda-requirements.txt \
    && mkdir -p /provider /about \
    && mv /cuda/onnxruntime/capi/libonnxruntime_providers_cuda.so /cuda/onnxruntime/capi/libonnxruntime_providers_shared.so /provider/ \
    && mv /cuda/*.dist-info /about/ \
    && find /cuda/nvidia -type f ! -name '*.so.*' -delete

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="lehr-worker-cuda" \
      org.opencontainers.image.description="Worker of Lehr for one NVIDIA card" \
      org.opencontainers.image.licenses="MIT"
# cuda and not auto: a worker without a card must fail instead of drawing slowly on the CPU.
ENV NODE_ENV=production LEHR_HOST=0.0.0.0 LEHR_WORKER_PORT=9464 LEHR_HOME=/var/lib/lehr LEHR_DEVICE=cuda
# The container toolkit of NVIDIA reads these: it adds the card and its driver, and refuses a driver that is too old for CUDA 13.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility NVIDIA_REQUIRE_CUDA="cuda>=13.0"
ENV LD_LIBRARY_PATH=/opt/nvidia/cu13/lib:/opt/nvidia/cudnn/lib
# The layers follow in the order of how seldom they change, so that a new version of Lehr is a few megabytes to pull.
# ffmpeg decodes the audio of speech jobs.
COPY --from=ffmpeg /ffmpeg/ffmpeg /usr/local/bin/
COPY --from=ffmpeg /ffmpeg/about /opt/ffmpeg/about
RUN groupadd --system --gid 10001 lehr && useradd --system --uid 10001 --gid lehr lehr && mkdir -p /var/lib/lehr && chown 10001:10001 /var/lib/lehr
# Two large layers, which are pulled at the same time.
COPY --from=cuda /cuda/nvidia/cudnn /opt/nvidia/cudnn
COPY --from=cuda /cuda/nvidia/cu13 /opt/nvidia/cu13
WORKDIR /lehr
COPY LICENSE package.json ./
COPY infra/docker/healthy.mjs infra/docker/bill.mjs infra/docker/
COPY --from=modules /lehr/node_modules node_modules
COPY --from=modules /lehr/npm.cdx.json ./
# Beside the library of onnxruntime-node, which looks for its providers there.
COPY --from=cuda /provider node_modules/onnxruntime-node/bin/napi-v6/linux/x64
COPY --from=cuda /about /opt/nvidia/about
RUN node infra/docker/bill.mjs /lehr lehr-worker-cuda
COPY packages/demo-models/models packages/demo-models/models
COPY --from=build /lehr/packages/onnx-model/package.json packages/onnx-model/
COPY --from=build /lehr/packages/onnx-model/dist packages/onnx-model/dist
COPY --from=build /lehr/packages/demo-models/package.json packages/demo-models/
COPY --from=build /lehr/packages/demo-models/dist packages/demo-models/dist
COPY --from=build /lehr/packages/shared/package.json packages/shared/
COPY --from=build /lehr/packages/shared/dist packages/shared/dist
COPY --from=build /lehr/apps/worker/package.json apps/worker/
COPY --from=build /lehr/apps/worker/dist apps/worker/dist
# By number, so that Kubernetes can see that it is not root. It writes to /var/lib/lehr and /tmp only: mount the root read-only.
USER 10001:10001
EXPOSE 9464
# It drains: finishes what it can within LEHR_DRAIN_S and hands the rest back. The program that stops it must wait that long.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD node infra/docker/healthy.mjs "$LEHR_WORKER_PORT"
CMD ["node", "apps/worker/dist/main.js"]
