#!/usr/bin/env bash
# Prints the path of Helm, which Go builds into the user's cache folder when this version is not there yet.
# Exits with 69 where there is no Go, or where it cannot be built.
set -u
version=3.22.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/headgate/helm-$version
if [ ! -x "$folder/helm" ]; then
  command -v go >/dev/null || exit 69
  mkdir -p "$folder"
  GOBIN=$folder GOFLAGS=-buildvcs=false timeout 900 go install "helm.sh/helm/v3/cmd/helm@v$version" >&2 || exit 69
fi
echo "$folder/helm"
