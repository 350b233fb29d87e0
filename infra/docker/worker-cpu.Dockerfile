# A worker that runs its graphs on the CPU. Build it from the repository's root:
#   docker build -f infra/docker/worker-cpu.Dockerfile -t lehr-worker-cpu .
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

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="lehr-worker-cpu" \
      org.opencontainers.image.description="Worker of Lehr that runs its graphs on the CPU" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production LEHR_HOST=0.0.0.0 LEHR_WORKER_PORT=9464 LEHR_HOME=/var/lib/lehr LEHR_DEVICE=cpu
# The layers follow in the order of how seldom they change, so that a new version of Lehr is a few megabytes to pull.
# ffmpeg decodes the audio of speech jobs.
COPY --from=ffmpeg /ffmpeg/ffmpeg /usr/local/bin/
COPY --from=ffmpeg /ffmpeg/about /opt/ffmpeg/about
RUN mkdir -p /var/lib/lehr && chown 1000:1000 /var/lib/lehr
WORKDIR /lehr
COPY LICENSE package.json ./
COPY infra/docker/healthy.mjs infra/docker/bill.mjs infra/docker/
COPY --from=modules /lehr/node_modules node_modules
COPY --from=modules /lehr/npm.cdx.json ./
RUN node infra/docker/bill.mjs /lehr lehr-worker-cpu
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
USER 1000:1000
EXPOSE 9464
# It drains: finishes what it can within LEHR_DRAIN_S and hands the rest back. The program that stops it must wait that long.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD node infra/docker/healthy.mjs "$LEHR_WORKER_PORT"
CMD ["node", "apps/worker/dist/main.js"]
