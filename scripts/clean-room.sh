#!/bin/sh
# Runs make targets on a fresh Debian that has only a Rust toolchain: what a newcomer's machine looks like.
#
#   scripts/clean-room.sh DIR [TARGET...]      (default target: test; `setup` only installs what is missing)
#
# DIR is made with debootstrap on the first call and kept, so that later calls are quick; delete it for a fresh start.
# What is committed at HEAD is what runs. Needs root, debootstrap, unshare. The toolchain of this machine is seen
# read-only; crates that were fetched here already are taken along, others come from the network.
# All processes and mounts end with the call: they live in namespaces of their own.
set -eu

[ $# -ge 1 ] || { echo "usage: clean-room.sh DIR [TARGET...]" >&2 && exit 2; }
[ "$(id -u)" = 0 ] || { echo "clean-room: needs root, for debootstrap and chroot" >&2 && exit 2; }
for program in debootstrap unshare git cargo rustc; do
  command -v "$program" >/dev/null || { echo "clean-room: $program is missing" >&2 && exit 2; }
done

mkdir -p "$1"
room=$(cd "$1" && pwd)
shift
[ $# -ge 1 ] || set -- test
source=$(cd "$(dirname "$0")/.." && pwd)
suite=${CLEAN_ROOM_SUITE:-bookworm}
mirror=${CLEAN_ROOM_MIRROR:-http://deb.debian.org}

if [ ! -e "$room/.complete" ]; then
  # make is what the two commands are typed with; ca-certificates is what fetching crates needs.
  debootstrap --variant=minbase --include=make,ca-certificates "$suite" "$room" "$mirror/debian"
  {
    echo "deb $mirror/debian $suite main"
    echo "deb $mirror/debian $suite-updates main"
    echo "deb $mirror/debian-security $suite-security main"
  } >"$room/etc/apt/sources.list"
  # An installed system has it, debootstrap does not; chromedriver talks to its browser by the name `localhost`.
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$room/etc/hosts"
  touch "$room/.complete"
fi
cp -L /etc/resolv.conf "$room/etc/resolv.conf"

# The toolchain itself, without rustup: nothing can be switched or downloaded.
mkdir -p "$room/opt/rust" "$room/root/.cargo/registry" "$room/root/agent-test"
cargo_home=${CARGO_HOME:-$HOME/.cargo}
for part in cache index; do
  if [ -d "$cargo_home/registry/$part" ]; then
    cp -Rn "$cargo_home/registry/$part" "$room/root/.cargo/registry/" 2>/dev/null || true
  fi
done
# A tree as committed; the build directory of an earlier call stays.
find "$room/root/agent-test" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
git -C "$source" archive HEAD | tar -x -C "$room/root/agent-test"

ROOM=$room TOOLCHAIN=$(rustc --print sysroot) exec unshare --mount --pid --fork --kill-child sh -c '
  set -eu
  mount --make-rprivate /
  mount --bind "$TOOLCHAIN" "$ROOM/opt/rust"
  mount -o remount,bind,ro "$ROOM/opt/rust"
  mount -t proc proc "$ROOM/proc"
  mount -t tmpfs -o mode=755 tmpfs "$ROOM/dev"
  for device in null zero full random urandom tty; do
    touch "$ROOM/dev/$device"
    mount --bind "/dev/$device" "$ROOM/dev/$device"
  done
  ln -s /proc/self/fd "$ROOM/dev/fd"
  mkdir "$ROOM/dev/pts"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$ROOM/dev/pts"
  ln -s pts/ptmx "$ROOM/dev/ptmx"
  mkdir "$ROOM/dev/shm"
  mount -t tmpfs -o mode=1777 tmpfs "$ROOM/dev/shm"
  # Not exec: this shell is process 1 in there and has to outlive, and reap, what is orphaned.
  chroot "$ROOM" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
    PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    make -C /root/agent-test "$@" </dev/null
' clean-room "$@"
