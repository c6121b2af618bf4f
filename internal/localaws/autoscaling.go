package localaws

import (
	"context"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// AutoScaling is EC2 Auto Scaling, as far as instances wait at lifecycle hooks. The
// zero value has none that waits.
type AutoScaling struct {
	waits
	refused, beats atomic.Int64
}

// Wait has an instance wait at a hook of group for the action's completion: the
// channel gets its result, CONTINUE or ABANDON.
func (a *AutoScaling) Wait(group, hook, instance string) <-chan string {
	return a.open(group + "/" + hook + "/" + instance)
}

// Refused counts completions of actions that were not active: of others, or of one
// that was completed before.
func (a *AutoScaling) Refused() int { return int(a.refused.Load()) }

// Beats counts the heartbeats of active actions.
func (a *AutoScaling) Beats() int { return int(a.beats.Load()) }

// CompleteLifecycleAction ends the wait of an instance.
func (a *AutoScaling) CompleteLifecycleAction(_ context.Context, in *autoscaling.CompleteLifecycleActionInput, _ ...func(*autoscaling.Options)) (*autoscaling.CompleteLifecycleActionOutput, error) {
	of := action(in.AutoScalingGroupName, in.LifecycleHookName, in.InstanceId)
	if !a.answer(of, aws.ToString(in.LifecycleActionResult)) {
		a.refused.Add(1)
		return nil, noAction(in.InstanceId)
	}
	return &autoscaling.CompleteLifecycleActionOutput{}, nil
}

// RecordLifecycleActionHeartbeat lengthens the wait of an instance.
func (a *AutoScaling) RecordLifecycleActionHeartbeat(_ context.Context, in *autoscaling.RecordLifecycleActionHeartbeatInput, _ ...func(*autoscaling.Options)) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error) {
	if !a.has(action(in.AutoScalingGroupName, in.LifecycleHookName, in.InstanceId)) {
		return nil, noAction(in.InstanceId)
	}
	a.beats.Add(1)
	return &autoscaling.RecordLifecycleActionHeartbeatOutput{}, nil
}

func action(group, hook, instance *string) string {
	return aws.ToString(group) + "/" + aws.ToString(hook) + "/" + aws.ToString(instance)
}

// noAction is told in these words (PrairieLearn/PrairieLearn#15586).
func noAction(instance *string) error {
	return Error("ValidationError", "No active Lifecycle Action found with instance ID "+aws.ToString(instance))
}
