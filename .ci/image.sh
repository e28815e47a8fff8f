#!/usr/bin/env bash
# Executes the instructions of examples/deployment/Dockerfile without a container engine: each stage is a layer over the files
# of this machine, in which the same commands run at the same paths. Then starts the gateway as the image does, and
# runs its health check. Needs root, `unshare` and overlays; exits with 69 without. The node of PATH takes the place of the base image's.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
file=$root/examples/deployment/Dockerfile
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || exit 69
if [ "${1:-}" != inside ]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  # The mounts end with the process.
  unshare --mount "$0" inside "$scratch"
  exit
fi

scratch=$2
stages=0
declare -A named=()
environment=()
user=root
home=/

stage () { # name
  stages=$((stages + 1))
  layer=$scratch/$stages
  mkdir -p "$layer"/{upper,work,root}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$layer/root" || exit 69
  mount --rbind /dev "$layer/root/dev"
  mount -t proc proc "$layer/root/proc"
  mount -t tmpfs -o mode=1777 tmpfs "$layer/root/tmp"
  # The user that the base image has.
  grep -q '^node:' "$layer/root/etc/passwd" || useradd --root "$layer/root" --uid 1000 node 2>/dev/null || useradd --root "$layer/root" node
  named[${1:-$stages}]=$layer/root
}

# Makes `run` a prefix that executes a command in the stage. The command takes the place of this process' child.
prepare () {
  run=(chroot)
  [ "$user" = root ] || run+=(--userspec="$user:$user")
  run+=("$layer/root" /usr/bin/env "PATH=$PATH" "${environment[@]}" sh -c 'cd "$0" && exec "$@"' "$home")
}

# The files of the repository as they are committed or would be: what .dockerignore leaves out, git does as well.
copy () { # sources... destination
  local from=$root to=${*: -1}
  case $1 in --from=*) from=${named[${1#--from=}]}; shift ;; esac
  case $to in /*) ;; *) to=$home/$to ;; esac
  mkdir -p "$layer/root$to"
  for source in "${@:1:$#-1}"; do
    if [ "$source" = . ]; then
      git -C "$root" ls-files -z --cached --others --exclude-standard | tar -C "$root" --null --ignore-failed-read -T - -cf - | tar -C "$layer/root$to" --no-same-owner -xf -
    elif [ -d "$from/$source" ]; then cp -a "$from/$source/." "$layer/root$to"
    else cp "$from/$source" "$layer/root$to"
    fi
  done
}

command='' check=''
while read -r instruction rest; do
  [ "$instruction" != HEALTHCHECK ] || { check=${rest#*CMD }; continue; }
  echo "$instruction $rest"
  case $instruction in
    FROM) user=root home=/ environment=(); name=${rest##* AS }; [ "$name" != "$rest" ] || name=''; stage "$name" ;;
    WORKDIR) home=$rest; mkdir -p "$layer/root$home" ;;
    COPY) copy $rest ;;
    RUN) prepare; "${run[@]}" sh -c "$rest" ;;
    ENV) environment+=($rest) ;;
    USER) user=$rest ;;
    EXPOSE) ;;
    CMD) command=$rest ;;
    *) echo "$instruction is not known here"; exit 1 ;;
  esac
done < <(grep -v '^#' "$file" | sed -e ':a' -e '/\\$/N; s/\\\n */ /; ta' | sed '/^$/d')

# JSON lists to arguments, one a line.
words () { node -e 'for (const word of JSON.parse(process.argv[1])) console.log(word)' "$1"; }
mapfile -t start < <(words "$command")
mapfile -t probe < <(words "$check")
echo 'dashboard: false' > "$layer/root/etc/headgate/headgate.yaml"
ip link set lo up 2>/dev/null || true
port=$((20000 + RANDOM % 9000))
environment+=("PORT=$port")
# The start fails if a package for these is not in the image. Nothing listens there: the gateway runs all the same.
environment+=(OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_METRICS_EXPORTER=otlp OTEL_LOGS_EXPORTER=otlp)
echo "start as $user: ${start[*]}"
prepare
"${run[@]}" "${start[@]}" > "$scratch/log" 2>&1 &
gateway=$!
healthy=no
for _ in $(seq 100); do
  if "${run[@]}" "${probe[@]}"; then healthy=yes; break; fi
  sleep 0.2
done
[ "$healthy" = yes ] || { cat "$scratch/log"; echo 'not healthy'; exit 1; }
echo "healthy; $(du -sm "$layer/root/srv/headgate" | cut -f1) MB in /srv/headgate, $(ls "$layer/root/srv/headgate/node_modules" | wc -l) packages"
for package in typescript tap esbuild; do
  [ ! -e "$layer/root/srv/headgate/node_modules/$package" ] || { echo "$package is in the image"; exit 1; }
done
[ -s "$layer/root/var/lib/headgate/headgate.db" ] || { echo 'no store in /var/lib/headgate'; exit 1; }
[ -n "$(ls "$layer/root/var/cache/headgate")" ] || [ "$(node -p 'typeof require("node:module").enableCompileCache')" = undefined ] || { echo 'no compiled code in /var/cache/headgate'; exit 1; }
kill -TERM "$gateway"
wait "$gateway"
echo 'ended with 0 after SIGTERM'
