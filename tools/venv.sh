#!/usr/bin/env bash
# Sees to moto's server, which the tests of what calls AWS run against: in
# dist/venv, unless python3 has that version already. Silent and quick when it
# is there.
set -euo pipefail
cd "$(dirname "$0")/.."
moto=5.2.1 # PyPI moto[server]

venv=dist/venv
has() { # PYTHON: it has this version of moto
  [[ $("$1" -c 'import importlib.metadata as m; m.version("flask"); print(m.version("moto"))' 2>/dev/null) == "$moto" ]]
}

if [[ -f $venv/.moto && $(<"$venv/.moto") == "$moto" ]]; then exit 0; fi
if type -P moto_server >/dev/null && has python3; then exit 0; fi

echo "deps: making $venv with moto $moto" >&2
rm -rf "$venv"
if ! python3 -m venv "$venv" >/dev/null; then
  echo "deps: python3 makes no venv; on Debian: apt-get install python3-venv" >&2
  exit 1
fi
"$venv/bin/pip" --quiet --disable-pip-version-check install "moto[server]==$moto"
echo "$moto" >"$venv/.moto"
