# Virtual environments of Python under the user's cache folder, for the scripts that need one. To be sourced.

# Makes the environment unless it is there. Returns 69 where Python 3.10 with venv cannot be had, 1 when pip fails.
python_environment () { # folder, arguments of `pip install`
  local folder=$1; shift
  [ ! -e "$folder/.complete" ] || return 0
  # Debian and Ubuntu keep ensurepip, which `python3 -m venv` needs, in a package of its own.
  if ! python3 -c 'import ensurepip' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv; } >/dev/null || true
  fi
  python3 -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || return 69
  for _ in 1 2; do
    rm -rf "$folder"
    if python3 -m venv "$folder" && timeout 300 "$folder/bin/pip" --quiet --disable-pip-version-check --retries 2 install "$@"; then
      touch "$folder/.complete"
      return
    fi
  done
  rm -rf "$folder"
  return 1
}
