# syntax=docker/dockerfile:1
# Two images: `core` holds the static binary, `collector` also what artifacts and measuring need.

FROM golang:1.26-bookworm AS build
WORKDIR /src
# Certificates of a proxy, if there are any (docker/README.md).
COPY docker/certificates/ /usr/local/share/ca-certificates/
RUN update-ca-certificates
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=unknown
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    CGO_ENABLED=0 GOCACHE=/go/cache \
    go build -trimpath -buildvcs=false -ldflags "-X main.version=${VERSION}" -o /out/tacho ./cmd/tacho

FROM debian:bookworm-slim AS core
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --home-dir /var/lib/tacho --shell /usr/sbin/nologin tacho
COPY docker/certificates/ /usr/local/share/ca-certificates/
RUN update-ca-certificates
COPY --from=build /out/tacho /usr/local/bin/tacho
COPY docker/tacho.toml /etc/tacho/tacho.toml
USER tacho
WORKDIR /var/lib/tacho
# No VOLUME: each container would get a nameless one, which the next container does not find.
ENV TACHO_DATA=/var/lib/tacho
EXPOSE 8421
ENTRYPOINT ["tacho"]
CMD ["--help"]

# A collector fetches Go releases with the go command and keeps them in its data directory.
FROM core AS collector
USER root
COPY --from=build /usr/local/go /usr/local/go
ENV PATH=/usr/local/go/bin:$PATH \
    GOPATH=/var/lib/tacho/go \
    GOCACHE=/var/lib/tacho/go-build
USER tacho
