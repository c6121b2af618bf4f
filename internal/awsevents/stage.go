package awsevents

import "context"

// HookAnswer is what ECS takes from a lifecycle hook (ECS Developer Guide,
// "Lifecycle hooks for Amazon ECS service deployments").
type HookAnswer struct {
	Status HookStatus `json:"hookStatus"`
	// CallBackDelay is after how many seconds ECS asks again, if in progress.
	CallBackDelay int `json:"callBackDelay,omitempty"`
}

// HookStatus is what becomes of the deployment.
type HookStatus string

// The statuses.
const (
	Succeeded  HookStatus = "SUCCEEDED"   // it goes on
	Failed     HookStatus = "FAILED"      // it is rolled back
	InProgress HookStatus = "IN_PROGRESS" // ECS asks again
)

const callBackDelay = 10 // seconds

// early are the stages before a node of the new revision can be there.
var early = map[string]bool{"RECONCILE_SERVICE": true, "PRE_SCALE_UP": true}

// stage answers an ECS deployment's hook: it goes on once a node of the group is
// well, and is rolled back if none is in time.
func (h *Handler) stage(ctx context.Context, p *plan, e Event) HookAnswer {
	_, known := p.groupOf(e.Source)
	if !known {
		h.log.WarnContext(ctx, "no group names the service of a deployment's hook as its source", "source", e.Source, "stage", e.State)
	}
	if early[e.State] || p.ready(e) {
		return HookAnswer{Status: Succeeded}
	}
	for _, it := range p.items {
		if it.name == e.name() && p.now >= it.until(p.config) {
			h.log.ErrorContext(ctx, "no node is well, the deployment is rolled back", "source", e.Source, "stage", e.State)
			return HookAnswer{Status: Failed}
		}
	}
	return HookAnswer{Status: InProgress, CallBackDelay: callBackDelay}
}
