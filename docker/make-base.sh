#!/bin/sh
# A base image from Debian's packages, for machines that reach Debian's archive but no registry. As root, with debootstrap and an engine.
#
#   docker/make-base.sh [IMAGE] [SUITE] [MIRROR]        # without MIRROR: the one debootstrap knows
set -eu

image=${1:-highwater-base}
suite=${2:-bookworm}
packages=openssh-server,python3,python3-pip,iproute2,iptables,procps

[ "$(id -u)" = 0 ] || { echo "make-base.sh: debootstrap needs root" >&2; exit 255; }
command -v debootstrap >/dev/null || { echo "make-base.sh: install debootstrap (apt-get install debootstrap)" >&2; exit 255; }
docker info >/dev/null 2>&1 || { echo "make-base.sh: no Docker engine answers; start one" >&2; exit 255; }

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 255' INT TERM HUP

debootstrap --variant=minbase --include="$packages" "$suite" "$root" ${3:+"$3"}
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
tar -C "$root" --one-file-system -c . | docker import --message "Debian $suite" - "$image"
