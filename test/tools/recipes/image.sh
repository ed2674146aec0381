#!/usr/bin/env bash
# Builds the Dockerfile and runs the image as a container, on a machine without a Docker engine: as root, on Debian, with
# apt-get install buildah runc debootstrap. In place of the official image of Node the base is Debian with the Node of node_modules.
# The container has a read-only root, no capabilities and no root. Shown are the plugin of an own stage, the health check, a streamed
# reply, and that SIGTERM lets the stream finish and ends process 1 with 0.
set -euo pipefail
cd "$(dirname "$0")/../../.."

root=$PWD
node=$root/node_modules/node/bin/node
work=${WORK:-/tmp/sluice-image}
mkdir -p "$work/etc" "$work/data" "$work/bundle"
: > "$work/registries.conf"
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/storage"\nrunroot = "%s/run"\n' "$work" "$work" > "$work/storage.conf"
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
export CONTAINERS_STORAGE_CONF=$work/storage.conf REGISTRIES_CONFIG=$work/registries.conf
base=localhost/node:24-bookworm-slim

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*"; exit 1; }

if ! buildah images --quiet "$base" > /dev/null 2>&1; then
  say 'a base with Node and npm'
  debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" http://deb.debian.org/debian > "$work/debootstrap.log"
  npm_folder=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  mkdir -p "$work/base/usr/local/lib/node_modules"
  cp -rL "$npm_folder" "$work/base/usr/local/lib/node_modules/npm"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$work/base/usr/local/bin/npm"
  install -m 755 "$node" "$work/base/usr/local/bin/node"
  # Certificates that this machine trusts, such as that of a proxy in front of the registry.
  cp /etc/ssl/certs/ca-certificates.crt "$work/base/etc/ssl/certs/"
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$work/base" / > /dev/null
  buildah config --env PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$container"
  buildah commit --quiet "$container" "$base" > /dev/null
  buildah rm "$container" > /dev/null
fi

say 'the image'
buildah build --quiet --format docker --build-arg NODE_IMAGE="$base" --tag localhost/sluice .
container=$(buildah from localhost/sluice)
trap 'kill $(jobs -p) 2> /dev/null || true; runc delete --force sluice-image 2> /dev/null || true; buildah rm "$container" > /dev/null' EXIT
rootfs=$(buildah mount "$container")
printf 'the packages in the image take %s\n' "$(du -sh "$rootfs/app" | cut -f1)"

say 'a container'
key=sk-image-0123456789
cp examples/own-stage/house-rules.ts "$work/etc/"
cp examples/own-stage/sluice.yaml "$work/etc/"
printf '\nserver: { host: 0.0.0.0, port: 18080, unready_ms: 500 }\nstores: { records: "sqlite:/var/lib/sluice/sluice.db" }\n' >> "$work/etc/sluice.yaml"
rm -f "$work"/data/* && chown 1000:1000 "$work/data"
buildah inspect --type image localhost/sluice > "$work/image.json"
(cd "$work/bundle" && rm -f config.json && runc spec)
mapfile -t health < <("$node" test/tools/recipes/bundle.cjs "$work" "$rootfs" UPSTREAM_URL=http://127.0.0.1:18000/v1 DEMO_KEY=$key)
"$node" --conditions=sluice-source src/cli/sidecar.ts simulate --port 18000 > "$work/simulator.log" 2>&1 &
(cd "$work/bundle" && runc run sluice-image > "$work/container.log" 2>&1; echo "exit code $?" >> "$work/container.log") &
for _ in $(seq 100); do grep -q 'listening on' "$work/container.log" && break; sleep 0.2; done
grep -q 'listening on' "$work/container.log" || fail "$(cat "$work/container.log")"
runc exec sluice-image sh -c 'test "$(id -u)" = 1000 && ! touch /x 2> /dev/null && grep -q node /proc/1/cmdline' || fail 'user, root or process 1'

say 'the health check of the image'
runc exec sluice-image "${health[@]}" || fail 'the health check'

say 'a stream that SIGTERM lets finish'
curl --silent --no-buffer "http://127.0.0.1:18080/v1/chat/completions" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
  -d '{"model":"aion-labs/aion-3.5","stream":true,"messages":[{"role":"user","content":"Why? [[sim:tokens=40 tps=15]]"}]}' > "$work/stream.txt" &
stream=$!
for _ in $(seq 50); do grep -q '"content"\|"reasoning"' "$work/stream.txt" && break; sleep 0.1; done
runc kill sluice-image TERM
wait $stream
tail -n 2 "$work/stream.txt" | grep -q 'data: \[DONE\]' || fail "the stream: $(tail -c 300 "$work/stream.txt")"
for _ in $(seq 100); do grep -q '^exit code' "$work/container.log" && break; sleep 0.1; done
grep -qx 'exit code 0' "$work/container.log" || fail "$(tail -n 3 "$work/container.log")"
test -s "$work/data/sluice.db" || fail 'there is no database in the volume'
printf '\nthe image builds, runs, and ends in order\n'
