# All images of a release, from the repository's root:
#   docker buildx bake -f infra/docker/docker-bake.hcl
# REGISTRY is where they are pushed with --push, with a slash at its end: registry.example.com/team/.
variable "REGISTRY" { default = "" }
variable "VERSION" { default = "0.1.0" }
variable "COMMIT" { default = "" }
variable "NODE_IMAGE" { default = "node:24-bookworm-slim" }

group "default" { targets = ["api", "worker-cpu", "worker-cuda"] }

target "common" {
  context = "."
  args = { NODE_IMAGE = NODE_IMAGE }
  labels = {
    "org.opencontainers.image.version"  = VERSION
    "org.opencontainers.image.revision" = COMMIT
  }
}

target "api" {
  inherits   = ["common"]
  dockerfile = "infra/docker/api.Dockerfile"
  tags       = ["${REGISTRY}lehr-api:${VERSION}"]
}

target "worker-cpu" {
  inherits   = ["common"]
  dockerfile = "infra/docker/worker-cpu.Dockerfile"
  tags       = ["${REGISTRY}lehr-worker-cpu:${VERSION}"]
}

target "worker-cuda" {
  inherits   = ["common"]
  dockerfile = "infra/docker/worker-cuda.Dockerfile"
  tags       = ["${REGISTRY}lehr-worker-cuda:${VERSION}"]
}
