#!/usr/bin/env bash
# Sees to what the tests need besides Go: a Redis server, the HTTP clients that
# they follow redirects with, and a C compiler for the race detector. Silent
# when all is there. What is missing is installed from Debian's packages where
# apt-get and root are at hand; elsewhere one line says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

# The versions are asked for only when one of these has moved since the last
# success.
stamp=dist/.deps
programs() { type -P redis-server curl node java python3 cc || true; }
if [[ -f $stamp && $(programs) == "$(<"$stamp")" ]]; then exec tools/venv.sh; fi

at_least() { # MAJOR TEXT: the first number in TEXT is MAJOR or more
  [[ $2 =~ [0-9]+ ]] && ((BASH_REMATCH[0] >= $1))
}

has() {
  case $1 in
    node) at_least 18 "$(node --version 2>&1)" ;;
    java) at_least 11 "$(java -version 2>&1 | grep -m1 version)" ;;
    venv) python3 -c 'import ensurepip' ;;
    requests) python3 -c 'import requests' || /usr/bin/python3 -c 'import requests' ;; # Debian's package is for the latter
    *) type -P "$1" ;;
  esac >/dev/null 2>&1
}

missing() {
  local want
  for want in redis-server curl node java python3 requests venv cc; do
    has "$want" || echo "$want"
  done
}

packages() { # NAME…: the Debian packages that bring them
  local want
  for want; do
    case $want in
      node) echo nodejs ;;
      java) echo default-jdk-headless ;;
      requests) echo python3-requests ;;
      venv) echo python3-venv ;;
      cc) echo gcc libc6-dev ;;
      *) echo "$want" ;;
    esac
  done
}

# A policy that forbids everything keeps redis-server's package from starting a
# service (invoke-rc.d(8), deb-systemd-invoke(1p)).
install() { # PACKAGE…
  local policy=/usr/sbin/policy-rc.d
  if [[ ! -e $policy ]]; then
    trap "rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install --no-install-recommends "$@"
}

lacks=$(missing | xargs)
if [[ $lacks && $EUID == 0 ]] && type -P apt-get >/dev/null; then
  wanted=$(packages $lacks | xargs)
  echo "deps: installing $wanted" >&2
  install $wanted >/dev/null || true # what counts is what is there afterwards
  hash -r
  lacks=$(missing | xargs)
fi

if [[ $lacks ]]; then
  echo "deps: missing $lacks (node ≥ 18, java ≥ 11, requests for python3); on Debian: apt-get install $(packages $lacks | xargs)" >&2
  exit 1
fi
mkdir -p dist
programs >"$stamp"
exec tools/venv.sh # moto, which stands in for AWS's API
