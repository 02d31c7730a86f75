#!/bin/sh
# Installs what building (`build`), testing in a browser (`browser`), testing faults of the system (`faults`), testing
# with git (`worktrees`), playing exported tests (`node`), benchmarks (`bench`) or those of the explorer beside other
# programs (`peers`) need and is missing.
#
# As root on Debian it installs. Elsewhere it installs nothing: it says exactly what is missing and how to get it, and
# ends with 2. When nothing is missing it says nothing.
set -eu

missing_packages=
missing_names=

missing() { # NAME PACKAGE...
  missing_names="${missing_names:+$missing_names, }$1"
  shift
  missing_packages="$missing_packages $*"
}

have() { command -v "$1" >/dev/null 2>&1; }

any_program() { # PATH-OR-NAME...
  for candidate in "$@"; do
    if [ -n "$candidate" ] && have "$candidate"; then return 0; fi
  done
  return 1
}

check_build() {
  if ! have cargo; then
    echo "setup: cargo is missing: install Rust 1.95 or newer from https://rustup.rs" >&2
    exit 2
  fi
  have make || missing make make
  have cc || missing "a C compiler" gcc libc6-dev
}

# The places are those that `agent-test doctor` searches.
check_browser() {
  any_program "${AGENT_TEST_CHROME:-}" /usr/lib/chromium/chromium /usr/lib64/chromium-browser/chromium-browser \
    /usr/lib/chromium-browser/chromium-browser /opt/google/chrome/chrome \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
    /Applications/Chromium.app/Contents/MacOS/Chromium \
    chromium chromium-browser google-chrome google-chrome-stable chrome ||
    missing Chromium chromium
  any_program "${AGENT_TEST_CHROMEDRIVER:-}" /usr/bin/chromedriver /usr/lib/chromium/chromedriver \
    /usr/lib64/chromium-browser/chromedriver /usr/lib/chromium-browser/chromedriver \
    /opt/homebrew/bin/chromedriver /usr/local/bin/chromedriver chromedriver chromium.chromedriver ||
    missing ChromeDriver chromium-driver
}

# Faults are injected at system calls, which only Linux has a tool for.
check_faults() {
  [ "$(uname -s)" != Linux ] || have strace || missing strace strace
}

# Linked worktrees and branches are git's own.
check_worktrees() {
  have git || missing git git
}

# Exported tests are played by the real Playwright and the real replay library, in the versions of the lock file. No
# browser is downloaded: they use the one that is installed.
tests=$(dirname "$0")/../tests/npm
peers=$(dirname "$0")/../benches/explore
check_node() { # DIRECTORY
  wants_packages="${wants_packages:-} $1"
  if ! have node || ! have npm; then
    missing "Node.js with npm" nodejs npm
  elif [ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 18')" != true ]; then
    echo "setup: Node.js $(node --version) is too old: install 18 or newer from https://nodejs.org" >&2
    exit 2
  fi
}

install_packages() {
  [ -n "${wants_packages:-}" ] || return 0
  for packages in $wants_packages; do
    installed=$packages/node_modules/.package-lock.json
    if [ -f "$installed" ] && ! [ "$packages/package-lock.json" -nt "$installed" ]; then continue; fi
    echo "setup: installing the packages of ${packages#*/../}" >&2
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 PUPPETEER_SKIP_DOWNLOAD=1 \
      npm ci --prefix "$packages" --no-audit --no-fund --loglevel=error </dev/null >&2
    touch "$installed"
  done
}

check_bench() {
  have jq || missing jq jq
}

system() {
  case $(uname -s) in
    Darwin) echo macos && return ;;
    Linux) ;;
    *) echo other && return ;;
  esac
  ids=" $(sed -n 's/^ID=//p; s/^ID_LIKE=//p' /etc/os-release 2>/dev/null | tr -d '"' | tr '\n' ' ') "
  case $ids in
    *" ubuntu "*) echo ubuntu ;; # its Chromium is a snap, which not every machine can install
    *" debian "*) echo debian ;;
    *" fedora "* | *" rhel "*) echo fedora ;;
    *) echo other ;;
  esac
}

say_how() {
  echo "setup: missing: $missing_names" >&2
  case $(system) in
    debian) echo "setup: as root: apt-get install$missing_packages" >&2 ;;
    ubuntu) echo "setup: as root: apt-get install make gcc libc6-dev git strace jq nodejs npm chromium-browser chromium-chromedriver" >&2 ;;
    fedora) echo "setup: as root: dnf install make gcc git strace jq nodejs npm chromium chromedriver" >&2 ;;
    macos) echo "setup: xcode-select --install (make, C compiler); brew install node; brew install --cask chromium chromedriver" >&2 ;;
    *) echo "setup: install them with your system's package manager; browser and driver in the same version" >&2 ;;
  esac
  echo "setup: a browser elsewhere can be named with AGENT_TEST_CHROME and AGENT_TEST_CHROMEDRIVER" >&2
  exit 2
}

for part in "${@:-build}"; do
  case $part in
    build) check_build ;;
    browser) check_browser ;;
    faults) check_faults ;;
    bench) check_bench ;;
    worktrees) check_worktrees ;;
    node) check_node "$tests" ;;
    peers) check_node "$peers" ;;
    *) echo "usage: setup.sh [build] [browser] [faults] [worktrees] [node] [bench] [peers]" >&2 && exit 2 ;;
  esac
done

if [ -z "$missing_names" ]; then
  install_packages
  exit 0
fi
if [ "$(system)" != debian ] || [ "$(id -u)" != 0 ] || ! have apt-get; then
  say_how
fi
echo "setup: installing$missing_packages" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq </dev/null >&2
# shellcheck disable=SC2086 # a list of packages
apt-get install -y -qq --no-install-recommends $missing_packages </dev/null >&2
install_packages
