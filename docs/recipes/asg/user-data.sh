#!/bin/sh
# User data of an instance whose image holds /usr/local/bin/detour, the units app.service and
# detour-agent.service, and the system user detour. It says once who this node is, and starts both.
set -eu

: "${NODE_GROUP:=blue}"
: "${NODE_DOMAIN:=nodes.example.com}" # i-0abc.nodes.example.com must lead clients to this instance
: "${NODE_PROBE:=http://127.0.0.1:8080/health}" # the application's own answer, not the gate's /_health
: "${NODE_DRAIN:=60s}"
: "${DETOUR_REDIS_URL:=rediss://registry.example.com:6379}"

imds=${AWS_EC2_METADATA_SERVICE_ENDPOINT:-http://169.254.169.254}
imds=${imds%/}
ask() { curl -fsS --noproxy '*' --retry 5 --max-time 5 "$@"; }
token=$(ask -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$imds/latest/api/token")
id=$(ask -H "X-aws-ec2-metadata-token: $token" "$imds/latest/meta-data/instance-id")

# In single quotes a value means the same to systemd and to sh, which both read this file.
settings=${DESTDIR:-}/etc/detour/agent.env
mkdir -p "${settings%/*}"
(
    umask 077 # the registry's URL may hold a password; systemd reads the file as root
    cat >"$settings.new" <<END
NODE_ID='$id'
NODE_GROUP='$NODE_GROUP'
NODE_ENDPOINT='${NODE_ENDPOINT:-https://$id.$NODE_DOMAIN}'
NODE_PROBE='$NODE_PROBE'
NODE_DRAIN='$NODE_DRAIN'
DETOUR_REDIS_URL='$DETOUR_REDIS_URL'
END
)
mv "$settings.new" "$settings"

systemctl enable detour-agent.service # from now on app.service brings it along
systemctl start app.service           # leave this out where CodeDeploy brings the application
