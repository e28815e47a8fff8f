#!/usr/bin/env bash
# Sends requests generated from the served OpenAPI document to a gateway with the sandbox and faked
# providers behind it: no answer may be a 5xx, or one that the document does not allow.
# Usage: test/fuzz/run.sh SECONDS (after `npm run build`). Installs schemathesis into a cache folder.
# Ends with `N passed, N failed`, counted in operations; both are 0 where schemathesis cannot be had.
set -u
cd "$(dirname "$0")/../.." || exit 1
. .ci/venv.sh
root=$PWD
seconds=${1:-120}
version=4.32.5
venv=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headgate/schemathesis-$version
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

skip () { # reason
  echo "not run: $1"
  echo "0 passed, 0 failed"
  exit 0
}

fail () { # reason
  echo "$1"
  echo "0 passed, 1 failed"
  exit 1
}

python_environment "$venv" "schemathesis==$version" >"$out/pip" 2>&1 || { tail -n 5 "$out/pip"; skip "schemathesis cannot be installed"; }

coproc GATEWAY { exec node build/test/fuzz/serve.js; }
gateway=$GATEWAY_PID
read -r url <&"${GATEWAY[0]}" || fail "the gateway did not start"
input=${GATEWAY[1]}

# In a folder of its own: schemathesis keeps what it found in the folder it is started in.
mkdir "$out/work"
(cd "$out/work" && SCHEMATHESIS_HOOKS=$root/test/fuzz/hooks.py "$venv/bin/schemathesis" run "$url/openapi.json" \
  --header 'Authorization: Bearer fuzz' --exclude-tag Aliases --phases coverage,fuzzing --max-examples 60 --max-time "$seconds" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
  --report junit --report-junit-path "$out/report.xml" \
  --suppress-health-check all --request-timeout 20 --continue-on-failure --no-color --warnings off --seed 1) >"$out/log" 2>&1
status=$?
exec {input}>&-
wait "$gateway"
[ "$status" = 0 ] || cat "$out/log"
grep -E 'generated, ' "$out/log"

total () { # attribute of the first element of the report, the sum over all operations
  grep -oE "<testsuites [^>]*" "$out/report.xml" 2>/dev/null | grep -oE " $1=\"[0-9]+" | grep -oE '[0-9]+' || echo 0
}
tests=$(total tests)
broken=$(($(total failures) + $(total errors)))
[ "$tests" -gt 0 ] || fail "schemathesis ended with status $status"
[ "$status" = 0 ] || [ "$broken" -gt 0 ] || broken=1
echo "$((tests - broken)) passed, $broken failed"
exit "$status"
