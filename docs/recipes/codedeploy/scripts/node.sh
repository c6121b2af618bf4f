# Read by the hooks: who this node is, and how the registry is reached. CodeDeploy gives its
# scripts none of that. After it NODE_ID is set.
# shellcheck shell=sh

settings=${DESTDIR:-}/etc/detour/agent.env
if [ -r "$settings" ]; then
    set -a
    # shellcheck source=/dev/null
    . "$settings"
    set +a
fi

if [ -z "${NODE_ID:-}" ]; then
    imds=${AWS_EC2_METADATA_SERVICE_ENDPOINT:-http://169.254.169.254}
    imds=${imds%/}
    token=$(curl -fsS --noproxy '*' --max-time 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$imds/latest/api/token")
    NODE_ID=$(curl -fsS --noproxy '*' --max-time 5 -H "X-aws-ec2-metadata-token: $token" "$imds/latest/meta-data/instance-id")
fi

by="codedeploy"
reason="deployment ${DEPLOYMENT_ID:-by hand}"
