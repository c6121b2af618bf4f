package rules

import (
	"context"
	"fmt"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/detourhq/detour/pkg/cluster"
)

// patience is how long a rule waits for all targets of a resumed group; then one
// is enough.
const patience = 2 * time.Minute

// ready reports whether a target group may have its weight back at now, after it
// was to have it since, and if not, why.
func (r *Reconciler) ready(ctx context.Context, targetGroup string, since, now cluster.Millis) (why string, err error) {
	in := &elb.DescribeTargetHealthInput{TargetGroupArn: &targetGroup}
	out, err := call(ctx, r, "read target health of "+id(targetGroup), r.api.DescribeTargetHealth, in, always)
	if err != nil {
		return "", err
	}
	healthy, all := count(out.TargetHealthDescriptions)
	switch {
	case all == 0:
		return "target group " + id(targetGroup) + " has no target", nil
	case healthy == all, healthy > 0 && now.Sub(since) >= patience:
		return "", nil
	}
	return fmt.Sprintf("%d of %d targets of %s are healthy", healthy, all, id(targetGroup)), nil
}

// count counts the targets that are not draining. One that is not checked is as
// good as healthy: it will never be called so.
func count(targets []types.TargetHealthDescription) (healthy, all int) {
	for _, t := range targets {
		if t.TargetHealth == nil {
			all++
			continue
		}
		switch t.TargetHealth.State {
		case types.TargetHealthStateEnumDraining, types.TargetHealthStateEnumUnhealthyDraining:
			continue
		case types.TargetHealthStateEnumHealthy:
			healthy++
		case types.TargetHealthStateEnumUnavailable:
			if t.TargetHealth.Reason == types.TargetHealthReasonEnumHealthCheckDisabled {
				healthy++
			}
		}
		all++
	}
	return healthy, all
}
