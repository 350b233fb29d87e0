# The API, with the studio. Build it from the repository's root:
#   docker build -f infra/docker/api.Dockerfile -t lehr-api .
# infra/docker/README.md lists what is in the image, and docs/operating.md explains how to pin the base image.

ARG NODE_IMAGE=node:24-bookworm-slim
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
COPY apps/api apps/api
COPY apps/studio apps/studio
RUN npm run build -- --filter=@lehr/api...

FROM manifests AS modules
COPY infra/docker/slim.sh infra/docker/
RUN npm ci --omit=dev --workspace=@lehr/api --no-audit --no-fund && sh infra/docker/slim.sh api

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="lehr-api" \
      org.opencontainers.image.description="HTTP API of Lehr, a job queue for Stable Diffusion workers" \
      org.opencontainers.image.licenses="MIT"
# Reachable from outside its container, so it refuses to start without LEHR_API_KEY.
ENV NODE_ENV=production LEHR_HOST=0.0.0.0 LEHR_PORT=8080 LEHR_HOME=/var/lib/lehr
# The layers follow in the order of how seldom they change, so that a new version of Lehr is a few megabytes to pull.
RUN mkdir -p /var/lib/lehr && chown 1000:1000 /var/lib/lehr
WORKDIR /lehr
COPY LICENSE package.json ./
COPY infra/docker/healthy.mjs infra/docker/bill.mjs infra/docker/
COPY --from=modules /lehr/node_modules node_modules
COPY --from=modules /lehr/npm.cdx.json ./
RUN node infra/docker/bill.mjs /lehr lehr-api
# The API reads what models there are, not their weights.
COPY packages/demo-models/models/models.yaml packages/demo-models/models/
COPY --from=build /lehr/packages/shared/package.json packages/shared/
COPY --from=build /lehr/packages/shared/dist packages/shared/dist
COPY --from=build /lehr/packages/client/package.json packages/client/
COPY --from=build /lehr/packages/client/dist packages/client/dist
COPY --from=build /lehr/packages/mcp/package.json packages/mcp/
COPY --from=build /lehr/packages/mcp/dist packages/mcp/dist
COPY --from=build /lehr/apps/studio/package.json apps/studio/
COPY --from=build /lehr/apps/studio/dist apps/studio/dist
COPY --from=build /lehr/apps/api/package.json apps/api/
COPY --from=build /lehr/apps/api/dist apps/api/dist
# By number, so that Kubernetes can see that it is not root. It writes to /var/lib/lehr and /tmp only: mount the root read-only.
USER 1000:1000
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD node infra/docker/healthy.mjs "$LEHR_PORT"
CMD ["node", "apps/api/dist/main.js"]
