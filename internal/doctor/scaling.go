package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

const (
	terminating   = "autoscaling:EC2_INSTANCE_TERMINATING"
	shortestHook  = 2 * time.Minute // the heartbeat function lengthens it, and may be a tick late
	longestHook   = time.Hour
	completingTag = "detour:cluster"
)

// lifecycleHooks wants what docs/deploy.md has one make. After "Amazon EC2 Auto
// Scaling lifecycle hooks" an instance waits for the heartbeat timeout, and ABANDON
// skips the hooks that are left.
func lifecycleHooks(f *facts, tell teller) {
	for _, name := range f.scalingNames() {
		group, exists := f.scaling[name]
		about := "asg:" + name
		if !exists {
			tell(Wrong, about, "there is no such Auto Scaling group", "detour group put ID --source asg:NAME")
			continue
		}
		if !slices.ContainsFunc(group.Tags, func(t types.TagDescription) bool {
			return aws.ToString(t.Key) == completingTag && aws.ToString(t.Value) == f.config.Cluster
		}) {
			tag := "Key=" + completingTag + ",Value=" + f.config.Cluster
			tell(Wrong, about, "the group bears no tag "+tag+": the heartbeat function may not complete its lifecycle actions",
				"aws autoscaling create-or-update-tags --tags ResourceId="+name+",ResourceType=auto-scaling-group,"+tag+",PropagateAtLaunch=false")
		}
		found := false
		for _, h := range f.hooks[name] {
			if aws.ToString(h.LifecycleTransition) == terminating {
				found = true
				terminateHook(about, h, tell)
			}
		}
		if !found {
			tell(Wrong, about, "the group has no lifecycle hook for terminating: its instances are taken away from under their users",
				"aws autoscaling put-lifecycle-hook --auto-scaling-group-name "+name+" --lifecycle-hook-name detour --lifecycle-transition "+terminating+" --heartbeat-timeout 300 --default-result CONTINUE")
		}
	}
}

func terminateHook(about string, h types.LifecycleHook, tell teller) {
	about += "/" + aws.ToString(h.LifecycleHookName)
	timeout := time.Duration(aws.ToInt32(h.HeartbeatTimeout)) * time.Second
	switch {
	case timeout < shortestHook:
		tell(Warning, about, fmt.Sprintf("the hook waits %s: the heartbeat function lengthens it, but may be a minute late", timeout), "set --heartbeat-timeout to some minutes")
	case timeout > longestHook:
		tell(Warning, about, fmt.Sprintf("the hook waits %s: should nobody complete it, the instance stays that long", timeout), "set --heartbeat-timeout to some minutes")
	}
	if aws.ToString(h.DefaultResult) == "ABANDON" {
		tell(Warning, about, "the hook's default result is ABANDON: it skips the hooks of others, and an instance may be kept", "set --default-result CONTINUE")
	}
}
