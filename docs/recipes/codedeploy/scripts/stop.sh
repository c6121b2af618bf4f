#!/bin/sh
# ApplicationStop and BeforeInstall: the node is paused until validate.sh, quiet, and stopped.
# Again is as good as once. Without --for: a deployment that fails leaves the node paused.
set -eu
# shellcheck source=node.sh
. "$(dirname "$0")/node.sh"

pause() {
    detour pause "node:$NODE_ID" --mode drain --deadline 2m --by "$by" --reason "$reason" "$@"
}

if systemctl is-active --quiet app.service; then
    pause --wait --timeout 5m
else
    pause # nothing serves here: a node that died would be waited for in vain
fi
systemctl stop app.service || [ $? -eq 5 ] # 5: there is no such unit yet
