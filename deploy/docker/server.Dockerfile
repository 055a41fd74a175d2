# Image of hotrow-server, with hotrowctl beside it. From the root of the checkout:
#   docker build -f deploy/docker/server.Dockerfile -t hotrow-server:0.1.0 .
#   buildah build --ignorefile deploy/docker/server.Dockerfile.dockerignore \
#     -f deploy/docker/server.Dockerfile -t hotrow-server:0.1.0 .
#
# Another base, such as one that carries the CUDA runtime, must be of Debian 12 as well, because the
# shared libraries are its packages: --build-arg RUNTIME_BASE=IMAGE:TAG. For a release pin both bases
# to what was tested: --build-arg BUILD_BASE=debian:12-slim@sha256:DIGEST.
ARG BUILD_BASE=debian:12-slim
ARG RUNTIME_BASE=debian:12-slim

FROM ${BUILD_BASE} AS build
WORKDIR /src
COPY scripts/common.sh scripts/install_packages.sh scripts/
RUN scripts/install_packages.sh && rm -rf /var/lib/apt/lists/*
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY kernels kernels
COPY proto proto
COPY server server
COPY client client
# The least processor is a parameter; see cmake/HotrowFlags.cmake.
ARG HOTROW_ARCH=x86-64-v3
RUN cmake --preset release -B /build -D HOTROW_TESTS=OFF -D HOTROW_BENCH=OFF -D HOTROW_ARCH=${HOTROW_ARCH}
RUN cmake --build /build --target hotrow-server hotrowctl
RUN strip /build/bin/hotrow-server /build/bin/hotrowctl

FROM ${RUNTIME_BASE}
LABEL org.opencontainers.image.title="hotrow-server" \
      org.opencontainers.image.description="One shard of the Hotrow embedding parameter server" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libabsl20220623 \
      libbz2-1.0 \
      libc-ares2 \
      libc6 \
      libcivetweb1 \
      libfmt9 \
      libgcc-s1 \
      libgrpc++1.51 \
      libgrpc29 \
      liblz4-1 \
      libprometheus-cpp-core1.0 \
      libprotobuf32 \
      libre2-9 \
      libsnappy1v5 \
      libspdlog1.10 \
      libssl3 \
      libstdc++6 \
      libxxhash0 \
      libyaml-cpp0.7 \
      libzstd1 \
      zlib1g \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /build/bin/hotrow-server /build/bin/hotrowctl /usr/local/bin/
# Fails here rather than in the cluster when a library is missing.
RUN hotrow-server --version \
 && hotrowctl --help >/dev/null \
 && install -d -o 65532 -g 65532 /var/lib/hotrow
# Kubernetes asks by gRPC.
HEALTHCHECK NONE
USER 65532:65532
EXPOSE 7070 9090
ENTRYPOINT ["/usr/local/bin/hotrow-server"]
