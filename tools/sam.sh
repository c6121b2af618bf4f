#!/usr/bin/env bash
# Checks template.yaml with the real SAM CLI and cfn-lint, without AWS: it is
# valid, each build of the same source gives the same two binaries, whatever the
# folder or the commit, and what SAM makes of it is clean too. Linting the source
# is not enough: the policies of functions are looked at only when transformed.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/dist/venv-sam
wanted=$'aws-sam-cli==1.170.0\ncfn-lint==1.58.0'
if [[ ! -f $venv/wanted || $(<"$venv/wanted") != "$wanted" ]]; then
  echo "sam: making $venv" >&2
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
  printf '%s' "$wanted" >"$venv/wanted"
fi
export PATH=$venv/bin:$PATH
# A Region is wanted and credentials are not, but nobody's are to be used either.
export AWS_DEFAULT_REGION=eu-west-1 AWS_ACCESS_KEY_ID=none AWS_SECRET_ACCESS_KEY=none AWS_EC2_METADATA_DISABLED=true
export SAM_CLI_TELEMETRY=0 AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
unset AWS_PROFILE AWS_SESSION_TOKEN

quietly() { # CMD…: its output only if it fails
  local log
  log=$("$@" 2>&1) || { printf '%s\n' "$log" >&2; echo "sam: failed: $*" >&2; exit 1; }
}

quietly sam validate --lint

# The builds are made in a copy with a history of its own, so that neither the
# reader's .aws-sam nor his commits are touched.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar --exclude=./.git --exclude=./dist --exclude=./.aws-sam -c . | tar -x -C "$copy"
export GOFLAGS=-buildvcs=auto # what a machine's own setting must not hide
in_copy() { (cd "$copy" && "$@"); }
commit() { in_copy git -c user.name=sam -c user.email=sam@example.com -c commit.gpgsign=false commit -qam "$1"; }
sums() { # builds; prints the two binaries' sums
  in_copy quietly sam build
  in_copy sha256sum .aws-sam/build/{Redirect,Heartbeat}Function/bootstrap
}
in_copy git init -q
in_copy git add -A
commit first
first=$(sums)
rm -rf "$copy/.aws-sam" "$copy/dist"
second=$(sums)
echo >>"$copy/README.md"
commit second
third=$(sums)
if [[ $first != "$second" ]]; then echo "sam: two builds differ:"$'\n'"$first"$'\n'"$second" >&2; exit 1; fi
if [[ $first != "$third" ]]; then echo "sam: a commit to README.md changes the binaries:"$'\n'"$first"$'\n'"$third" >&2; exit 1; fi
if (($(cut -d' ' -f1 <<<"$first" | sort -u | wc -l) != 2)); then echo "sam: both functions are the same binary" >&2; exit 1; fi
for binary in "$copy"/.aws-sam/build/*/bootstrap; do
  if [[ $(od -An -tx1 -j18 -N2 "$binary") != " b7 00" ]]; then echo "sam: $binary is not for arm64" >&2; exit 1; fi
done

python3 tools/transform.py template.yaml >"$copy/transformed.json"
# W2001: a parameter that only SAM reads is used no more.
cfn-lint --ignore-checks W2001 -- "$copy/transformed.json"
echo "sam: template.yaml is valid, builds are reproducible, the transformed template is clean"
