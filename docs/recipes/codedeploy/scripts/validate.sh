#!/bin/sh
# ValidateService: returns once the new version answers and the node is offered again.
set -eu
# shellcheck source=node.sh
. "$(dirname "$0")/node.sh"

# within SECONDS COMMAND...: until COMMAND succeeds.
within() {
    left=$1
    shift
    until "$@"; do
        left=$((left - 1))
        if [ "$left" -le 0 ]; then
            echo "validate: not so in time: $*" >&2
            return 1
        fi
        sleep 1
    done
}

# Your own tests of the version go here, on this machine: so far nobody is led to it.
answers() { curl -fsS --noproxy '*' --max-time 2 -o /dev/null "$NODE_PROBE"; }

# A pause of somebody else's, of the whole group for example, is no reason to fail.
offered() {
    detour status | awk -v id="$NODE_ID" '
        { for (i = 1; i < NF - 1; i++) if ($i == id && $(i+1) == "active" && ($(i+2) == "yes" || /no: paused by /)) found = 1 }
        END { exit !found }'
}

within 60 answers
detour resume "node:$NODE_ID" --by "$by" --reason "$reason"
within 60 offered
