#!/usr/bin/env bash
# Runs the clients of Python's package index, each with its script in this folder, against a gateway with the sandbox
# and faked providers behind it. Usage: test/clients/python/run.sh [SCRIPT...] (after `npm run build`). Installs the
# clients into a cache folder. Ends with `N passed, N failed`, counted in cases; both are 0 where Python cannot be had.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. .ci/venv.sh
here=test/clients/python
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/headgate
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
scripts=("$@")
[ $# -gt 0 ] || scripts=(openai_client anthropic_client agents_client dedalus_client litellm_client moved_client)

fail () { # reason
  echo "$1"
  echo "0 passed, 1 failed"
  exit 1
}

# Prints the folder of the environment with these packages; another set of packages has another folder.
environment () { # file of requirements
  local folder
  folder=$cache/clients-$(cksum <"$1" | cut -d ' ' -f 1)
  python_environment "$folder" --requirement "$1" >"$out/pip" 2>&1
  local status=$?
  [ "$status" = 0 ] || tail -n 5 "$out/pip" >&2
  echo "$folder"
  return "$status"
}

common=$(environment $here/requirements.txt) && litellm=$(environment $here/requirements-litellm.txt) &&
  moved=$(environment $here/requirements-moved.txt)
case $? in
  0) ;;
  69) echo "not run: Python 3.10 with venv is needed"; echo "0 passed, 0 failed"; exit 0 ;;
  *) fail "the clients for Python could not be installed" ;;
esac

coproc GATEWAY { exec node build/test/clients/serve.js; }
gateway=$GATEWAY_PID
input=${GATEWAY[1]}
read -r -t 30 url key <&"${GATEWAY[0]}" || fail "the gateway did not start"

passed=0
failed=0
for script in "${scripts[@]}"; do
  python=$common/bin/python
  [ "$script" != litellm_client ] || python=$litellm/bin/python
  [ "$script" != moved_client ] || python=$moved/bin/python
  # Nothing of the user's environment, and no way out but by the gateway: a proxy where nothing listens.
  env -i PATH="$PATH" HOME="$out" HEADGATE_URL="$url" HEADGATE_KEY="$key" PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1 \
    HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 NO_PROXY=127.0.0.1 \
    timeout 120 "$python" "$here/$script.py" >"$out/log" 2>&1
  line=$(grep -aoE '^[0-9]+ passed, [0-9]+ failed$' "$out/log" | tail -n 1)
  echo "$script: ${line:-did not end}"
  if [ -z "$line" ]; then line="0 passed, 1 failed"; fi
  read -r good _ bad _ <<<"$line"
  [ "$bad" = 0 ] || cat "$out/log"
  passed=$((passed + good))
  failed=$((failed + bad))
done

exec {input}>&-
wait "$gateway" || { echo "the gateway ended with status $?"; failed=$((failed + 1)); }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
