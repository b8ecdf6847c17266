# One image for every process: `toolvet controller`, `toolvet webhook`, the command line.
#
# The base goes by tag, not by digest: a digest here would keep the base's security fixes out until somebody moved it,
# and whoever builds from a mirror has another one. A release resolves the tag once and passes name@sha256:... as
# BASE_IMAGE (docs/release.md). It must have Python >= 3.11 with venv as `python3` on PATH, and ca-certificates.
ARG BASE_IMAGE=python:3.13-slim-trixie

FROM ${BASE_IMAGE} AS build
ARG UV_VERSION=0.13.9
# The system's authorities, so that a builder behind a TLS proxy mounts its own bundle there and bakes nothing in.
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
RUN python3 -m venv /uv && /uv/bin/pip install --no-cache-dir --disable-pip-version-check uv==${UV_VERSION}
WORKDIR /src
ENV UV_PROJECT_ENVIRONMENT=/opt/toolvet \
    UV_PYTHON=python3 \
    UV_PYTHON_DOWNLOADS=never \
    UV_LINK_MODE=copy
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN --mount=type=cache,target=/root/.cache/uv \
    /uv/bin/uv sync --frozen --no-dev --extra operator --group image --no-install-project
COPY operator ./operator
# Without an installer's notes and activation scripts: the first hold the time of the build, the second want a shell.
RUN --mount=type=cache,target=/root/.cache/uv \
    /uv/bin/uv sync --frozen --no-dev --extra operator --group image --no-editable \
 && find /opt/toolvet -name 'uv_*.json' -delete \
 && sed -i '/uv_[a-z]*\.json/d' /opt/toolvet/lib/python3*/site-packages/*.dist-info/RECORD \
 && find /opt/toolvet/bin -type f ! -name toolvet ! -name kubectl-toolvet -delete \
 && rm -f /opt/toolvet/.lock /opt/toolvet/.gitignore /opt/toolvet/CACHEDIR.TAG
# Bytecode now, since nobody can write it later. Not by time of the source, which the layer rewrites, and by one
# worker with a fixed hash seed: the same sources give the same bytes.
RUN PYTHONHASHSEED=0 python3 -m compileall -q -j 1 --invalidation-mode unchecked-hash /opt/toolvet/lib

# The list of what is in /opt/toolvet, in CycloneDX: `--target sbom`.
FROM build AS list
RUN --mount=type=cache,target=/root/.cache/uv \
    UV_PROJECT_ENVIRONMENT=/sbom /uv/bin/uv sync --frozen --only-group sbom
RUN /sbom/bin/cyclonedx-py environment /opt/toolvet --pyproject pyproject.toml --mc-type application \
    --output-reproducible --output-format JSON --output-file /toolvet.cdx.json

FROM scratch AS sbom
COPY --from=list /toolvet.cdx.json /

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title=toolvet \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION} \
      org.opencontainers.image.base.name=${BASE_IMAGE}
# The usual Python images come without the bytecode of the standard library. -B: what compiles must not leave its own.
RUN PYTHONHASHSEED=0 python3 -B -m compileall -q -j 1 --invalidation-mode unchecked-hash \
    -x '/(test|tests|idlelib|lib2to3|tkinter|turtledemo|ensurepip|dist-packages|site-packages)/' \
    "$(python3 -B -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/toolvet /opt/toolvet
ENV PATH=/opt/toolvet/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# By number, so that runAsNonRoot can be checked without a user database.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["toolvet"]
