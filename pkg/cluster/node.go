package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Role says when a node is offered.
type Role string

// The roles. An empty role counts as [App].
const (
	App     Role = "app"     // always
	Standby Role = "standby" // only when no other node of its service is left
	Console Role = "console" // never
)

// Status is what a node reports of itself.
type Status string

// The statuses. Only an active node is offered; any other word counts as not
// active.
const (
	Starting   Status = "starting"
	Active     Status = "active"
	Paused     Status = "paused"
	Overloaded Status = "overloaded"
	Faulty     Status = "error"
	Inactive   Status = "inactive"
)

// DefaultWeight is the weight of a node that names none.
const DefaultWeight = 100

// Descriptor is what a node says of itself once, when it registers.
type Descriptor struct {
	ID         string     `json:"id"`
	Group      string     `json:"group"`
	Generation Generation `json:"generation"`
	Endpoint   string     `json:"endpoint"` // base URL that clients reach it by, see [CheckEndpoint]

	// Weight is its share of new traffic beside its peers' weights. Absent means
	// [DefaultWeight]; zero, negative and not-a-number mean none of it while
	// another node can be picked.
	Weight   float64  `json:"weight"`
	Role     Role     `json:"role,omitempty"`
	Zone     string   `json:"zone,omitempty"`
	Contexts []string `json:"contexts,omitempty"` // empty means "/"
	Routes   []string `json:"routes,omitempty"`   // session route ids: JVM routes, clone and engine ids
	Probe    string   `json:"probe,omitempty"`    // URL that answers 2xx while the node is well; empty means none
	Target   string   `json:"target,omitempty"`   // ELB target id: an EC2 id or an IP address
	Task     string   `json:"task,omitempty"`     // ECS task ARN
	Version  string   `json:"version,omitempty"`  // of the application, for people
	PulseMS  int64    `json:"pulse_ms,omitempty"` // interval between pulses; zero means unknown

	Started Millis `json:"started_ms,omitempty"` // when this generation started; zero means long ago
}

// UnmarshalJSON reads a descriptor, with the default weight where none is given.
func (d *Descriptor) UnmarshalJSON(b []byte) error {
	type plain Descriptor
	p := plain{Weight: DefaultWeight}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*d = Descriptor(p)
	return nil
}

// Check returns nil if d can be registered. Its errors wrap [ErrInvalid].
func (d *Descriptor) Check() error {
	if err := CheckID(d.ID); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if err := CheckID(d.Group); err != nil {
		return fmt.Errorf("group of node %s: %w", d.ID, err)
	}
	if err := CheckEndpoint(d.Endpoint); err != nil {
		return fmt.Errorf("node %s: %w", d.ID, err)
	}
	switch d.Role {
	case "", App, Standby, Console:
	default:
		return fmt.Errorf("%w: role %q of node %s is none of app, standby, console", ErrInvalid, d.Role, d.ID)
	}
	for _, c := range d.Contexts {
		if err := CheckContext(c); err != nil {
			return fmt.Errorf("node %s: %w", d.ID, err)
		}
	}
	if !finite(d.Weight) {
		return fmt.Errorf("%w: weight %g of node %s", ErrInvalid, d.Weight, d.ID)
	}
	return nil
}

// finite reports whether JSON can hold f.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Report is a node's last word on its own status.
type Report struct {
	Generation Generation        `json:"generation"`
	Status     Status            `json:"status"`
	Contexts   map[string]Status `json:"contexts,omitempty"` // where a context's status differs
	Reason     string            `json:"reason,omitempty"`   // for people
}

// In returns the status in context: the context's own if there is one and the
// node as a whole is active, else the node's.
func (r Report) In(context string) Status {
	if s, ok := r.Contexts[context]; ok && r.Status == Active {
		return s
	}
	return r.Status
}

// Figures are a node's numbers that change all the time.
type Figures struct {
	Load        float64 `json:"load"`     // any scale, the same for all nodes; less is freer
	InFlight    int64   `json:"inflight"` // requests that were let in and have not ended
	Sessions    int64   `json:"sessions"`
	Arrivals    int64   `json:"arrivals"` // requests since the generation started
	LastArrival Millis  `json:"last_arrival_ms,omitempty"`
	Gap         Millis  `json:"gap_ms,omitempty"` // mean time between two arrivals in the minute before the pause; zero where it knows none
	SeenEpoch   int64   `json:"seen_epoch"`       // the newest epoch that the node acts on
}

// Node is all that the registry knows of one node.
type Node struct {
	Descriptor
	Report  Report   // zero where the node has none of this generation
	Figures *Figures // nil where it publishes none
	Pulse   Millis   // last sign of life; never zero
}

// silences is how many pulses a node may miss before it is stale.
const silences = 3

// Tolerance returns how long n may be silent: the pulse timeout, or three of
// its own pulse intervals if that is longer; at most the 292 years that a
// Duration holds.
func (n *Node) Tolerance(timeout time.Duration) time.Duration {
	const most = math.MaxInt64 / silences / int64(time.Millisecond)
	return max(timeout, silences*time.Duration(min(max(n.PulseMS, 0), most))*time.Millisecond)
}

// FreshUntil returns the last instant at which n is not stale, the end of time
// where that is beyond it.
func (n *Node) FreshUntil(timeout time.Duration) Millis {
	until := n.Pulse.Add(n.Tolerance(timeout))
	if until < n.Pulse {
		return math.MaxInt64
	}
	return until
}

// Stale reports whether n has been silent for longer than its tolerance at now.
// A node heard exactly that long ago is still fresh, and a pulse in the future
// counts as now.
func (n *Node) Stale(now Millis, timeout time.Duration) bool { return now > n.FreshUntil(timeout) }

// IsPaused reports whether n says of itself that it is paused.
func (n *Node) IsPaused() bool { return n.Report.Status == Paused }

// rootContext stands for the contexts of a node that names none.
var rootContext = []string{"/"}

// ContextList returns the contexts that n serves, never empty.
func (n *Node) ContextList() []string {
	if len(n.Contexts) == 0 {
		return rootContext
	}
	return n.Contexts
}
