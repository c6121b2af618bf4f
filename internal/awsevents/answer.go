package awsevents

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	callTimeout = 2 * time.Second
	// claimFor is how long a call of AWS may be under way before it is taken for
	// one that died with its function.
	claimFor = 30 * time.Second
	// beatEvery is how often a lifecycle action's timeout starts anew.
	beatEvery = 15 * time.Second
	// triesMost is how often an answer is refused before it is given up.
	triesMost = 5
)

// proceed is the result of every lifecycle action: what ends ends, and what has
// started is up.
const proceed = "CONTINUE"

// answer tells AWS what there is to tell. Each call is claimed first, so that an
// overtaken sweeper and its successor do not both make it.
func (h *Handler) answer(ctx context.Context, p *plan, l cluster.Lease, r *Result) error {
	silent := make(map[bool]bool) // by whether it is CodeDeploy
	for _, it := range p.items {
		service := it.Event.Kind == Hook
		call := h.callFor(p, it)
		if call == nil || silent[service] || it.Claimed != 0 && p.now < it.Claimed.Add(claimFor) {
			continue
		}
		it.Claimed = p.now
		if err := h.storeOne(ctx, it, &l); errors.Is(err, cluster.ErrConflict) {
			continue
		} else if err != nil {
			return err
		}
		heard, err := h.perform(ctx, p, it, call, r)
		if err != nil {
			return err
		}
		silent[service] = heard == silence
	}
	return nil
}

// call is one call of AWS; what is its result in one word.
type call struct {
	what string // empty for a heartbeat, after which the work goes on
	send func(ctx context.Context) error
}

// callFor returns the call that is to be made for it now, nil for none.
func (h *Handler) callFor(p *plan, it *item) *call {
	switch {
	case it.Over != 0 || it.Answered != "":
		return nil
	case p.due(it) && it.Event.Kind == Hook:
		status := types.LifecycleEventStatusFailed
		if p.ready(it.Event) {
			status = types.LifecycleEventStatusSucceeded
		}
		return &call{string(status), func(ctx context.Context) error { return h.putStatus(ctx, &it.Event, status) }}
	case p.due(it):
		return &call{proceed, func(ctx context.Context) error { return h.complete(ctx, &it.Event) }}
	case it.Event.Kind == Terminate && len(it.Targets) > 0 && p.now >= max(it.Since, it.Beat).Add(beatEvery):
		return &call{"", func(ctx context.Context) error { return h.beat(ctx, &it.Event) }}
	}
	return nil
}

// perform makes call c and notes what came of it. The note needs no lease: it is
// true whoever sweeps now.
func (h *Handler) perform(ctx context.Context, p *plan, it *item, c *call, r *Result) (hearing, error) {
	callCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.send(callCtx)
	heard := hear(err)
	switch heard {
	case silence:
		r.Unreachable++
		h.log.ErrorContext(ctx, "AWS did not answer", "work", it.name, "err", err)
	case refusal:
		r.Unreachable++
		h.log.ErrorContext(ctx, "AWS refused a call", "work", it.name, "err", err)
	}
	if err := h.note(ctx, it, func(w *work) { w.hear(c, heard, p.gone(it), p.now) }); err != nil {
		return heard, err
	}
	switch it.Answered {
	case "":
	case gaveUp:
		r.GaveUp = append(r.GaveUp, it.name)
		h.log.ErrorContext(ctx, "answer to AWS is given up, AWS goes on at its own timeout", "work", it.name)
	default:
		r.Completed = append(r.Completed, it.name)
	}
	return heard, nil
}

// Why AWS need not be answered any more.
const (
	noAction = "no action" // there is none any more
	gaveUp   = "gave up"
)

// hear notes on w what AWS said to c. gone tells that no node is heard any more.
func (w *work) hear(c *call, heard hearing, gone bool, now cluster.Millis) {
	w.Claimed = 0
	switch {
	case heard == silence:
	case c.what == "": // a heartbeat; if it is refused another one is not due sooner
		w.Beat = now
	case heard == accepted:
		w.Answered = c.what
	case heard == already || heard == inactive && gone:
		w.Answered = noAction
	default:
		if w.Tries++; w.Tries >= triesMost {
			w.Answered = gaveUp
		}
	}
}

// note changes it and stores it, on what others have stored meanwhile.
func (h *Handler) note(ctx context.Context, it *item, change func(*work)) error {
	for range attempts {
		change(&it.work)
		err := h.storeOne(ctx, it, nil)
		if !errors.Is(err, cluster.ErrConflict) {
			return err
		}
		bodies, err := h.registry.Work(ctx)
		if err != nil {
			return err
		}
		w, err := decodeWork(bodies[it.name])
		if err != nil {
			return nil // it was removed: nobody will answer again
		}
		it.work, it.body = w, bodies[it.name]
	}
	return nil
}

func (h *Handler) complete(ctx context.Context, e *Event) error {
	_, err := h.aws.AutoScaling.CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String(e.asg()), LifecycleHookName: aws.String(e.Hook),
		LifecycleActionResult: aws.String(proceed), InstanceId: aws.String(e.Instance), LifecycleActionToken: e.token(),
	})
	return err
}

func (h *Handler) beat(ctx context.Context, e *Event) error {
	_, err := h.aws.AutoScaling.RecordLifecycleActionHeartbeat(ctx, &autoscaling.RecordLifecycleActionHeartbeatInput{
		AutoScalingGroupName: aws.String(e.asg()), LifecycleHookName: aws.String(e.Hook),
		InstanceId: aws.String(e.Instance), LifecycleActionToken: e.token(),
	})
	return err
}

func (h *Handler) putStatus(ctx context.Context, e *Event, status types.LifecycleEventStatus) error {
	_, err := h.aws.CodeDeploy.PutLifecycleEventHookExecutionStatus(ctx, &codedeploy.PutLifecycleEventHookExecutionStatusInput{
		DeploymentId: aws.String(e.Deployment), LifecycleEventHookExecutionId: aws.String(e.Execution), Status: status,
	})
	return err
}
