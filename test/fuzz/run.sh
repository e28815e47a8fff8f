#!/usr/bin/env bash
# Sends requests generated from the served OpenAPI document to a gateway with the sandbox and faked
# providers behind it: no answer may be a 5xx, or one that the document does not allow.
# Usage: test/fuzz/run.sh SECONDS (after `npm run build`). Installs schemathesis into a cache folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-120}
venv=${XDG_CACHE_HOME:-$HOME/.cache}/headgate/schemathesis-4.32.5
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

if [ ! -x "$venv/bin/schemathesis" ]; then
  python3 -m venv "$venv" && "$venv/bin/pip" --quiet --disable-pip-version-check install schemathesis==4.32.5 \
    || { rm -rf "$venv"; echo "schemathesis could not be installed"; exit 1; }
fi

coproc GATEWAY { node build/test/fuzz/serve.js; }
gateway=$GATEWAY_PID
read -r url <&"${GATEWAY[0]}" || { echo "the gateway did not start"; exit 1; }
input=${GATEWAY[1]}

SCHEMATHESIS_HOOKS=test/fuzz/hooks.py "$venv/bin/schemathesis" run "$url/openapi.json" \
  --header 'Authorization: Bearer fuzz' --phases coverage,fuzzing --max-examples 60 --max-time "$seconds" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
  --suppress-health-check all --request-timeout 20 --continue-on-failure --no-color --warnings off --seed 1 >"$out/log" 2>&1
status=$?
exec {input}>&-
wait "$gateway"
[ "$status" = 0 ] || cat "$out/log"
grep -E 'generated, ' "$out/log"
exit "$status"
