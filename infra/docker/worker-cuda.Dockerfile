# A worker for one NVIDIA card. Build it from the repository's root, run it with the card:
#   docker build -f infra/docker/worker-cuda.Dockerfile -t lehr-worker-cuda .
#   docker run --gpus 1 ... lehr-worker-cuda

# docs/operating.md explains how to pin the base images.
ARG NODE_IMAGE=node:24-bookworm-slim
# CUDA 12 and cuDNN 9, because the install script below names its package cuda12. docs/devices.md says how to check what it is linked with.
ARG CUDA_IMAGE=nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04
FROM ${NODE_IMAGE} AS manifests
WORKDIR /lehr
COPY package.json package-lock.json .npmrc ./
COPY apps/api/package.json apps/api/
COPY apps/studio/package.json apps/studio/
COPY apps/worker/package.json apps/worker/
COPY packages/shared/package.json packages/shared/
COPY packages/client/package.json packages/client/
COPY packages/client-types/package.json packages/client-types/
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
# The install script of onnxruntime-node, which .npmrc turns off, fetches the CUDA and TensorRT providers from nuget.org in
# the version of the package.
RUN npm ci --omit=dev --workspace=@lehr/worker --no-audit --no-fund \
    && ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js \
    && rm -rf node_modules/onnxruntime-node/bin/napi-v6/darwin node_modules/onnxruntime-node/bin/napi-v6/win32

FROM ${CUDA_IMAGE}
LABEL org.opencontainers.image.title="lehr-worker-cuda" \
      org.opencontainers.image.description="Worker of Lehr for one NVIDIA card" \
      org.opencontainers.image.licenses="MIT"
# cuda and not auto: a worker without a card must fail instead of drawing slowly on the CPU.
ENV NODE_ENV=production LEHR_HOST=0.0.0.0 LEHR_WORKER_PORT=9464 LEHR_HOME=/var/lib/lehr LEHR_DEVICE=cuda
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=manifests /usr/local/bin/node /usr/local/bin/node
# It decodes the audio of speech jobs.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ffmpeg \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /lehr
COPY LICENSE package.json ./
COPY --from=modules /lehr/node_modules node_modules
COPY --from=build /lehr/packages/shared/package.json packages/shared/
COPY --from=build /lehr/packages/shared/dist packages/shared/dist
COPY --from=build /lehr/packages/onnx-model/package.json packages/onnx-model/
COPY --from=build /lehr/packages/onnx-model/dist packages/onnx-model/dist
COPY --from=build /lehr/packages/demo-models/package.json packages/demo-models/
COPY --from=build /lehr/packages/demo-models/dist packages/demo-models/dist
COPY --from=build /lehr/apps/worker/package.json apps/worker/
COPY --from=build /lehr/apps/worker/dist apps/worker/dist
COPY packages/demo-models/models packages/demo-models/models
COPY infra/docker/healthy.mjs infra/docker/
RUN useradd --system --uid 10001 --create-home lehr && mkdir -p /var/lib/lehr && chown lehr:lehr /var/lib/lehr
USER lehr
EXPOSE 9464
# It drains: finishes what it can within LEHR_DRAIN_S and hands the rest back. The program that stops it must wait that long.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD node infra/docker/healthy.mjs "$LEHR_WORKER_PORT"
CMD ["node", "apps/worker/dist/main.js"]
