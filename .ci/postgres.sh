#!/usr/bin/env bash
# Starts a PostgreSQL of its own for tests in a directory, the one that is there already if any, and prints its address;
# `stop` ends it at once, as a crash does. Without options it does not wait for the disk.
#
#     .ci/postgres.sh start DIRECTORY [-c fsync=on …]
#     .ci/postgres.sh stop DIRECTORY
set -eu
action=$1
directory=$2
shift 2
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
command -v initdb >/dev/null || exit 69

# PostgreSQL does not run as root.
as () {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; else "$@"; fi
}

if [ "$action" = stop ]; then
  as pg_ctl -D "$directory/data" -m immediate stop >/dev/null
  exit
fi

mkdir -p "$directory"
if [ "$(id -u)" = 0 ]; then chown nobody:nogroup "$directory"; fi
cd "$directory"
if [ ! -d data ]; then
  as initdb -D data -U headgate -A trust -E UTF8 --locale=C --no-sync >initdb.log
  # A free port of the loopback address, below those that the system gives to clients.
  for port in $(shuf -i 20000-29999 -n 20); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port" >port
fi
port=$(cat port)
as pg_ctl -D data -w -l server.log -o "-c listen_addresses=127.0.0.1 -p $port -k '$directory' -c fsync=off -c max_connections=200 $*" start >start.log
echo "postgres://headgate@127.0.0.1:$port/postgres"
