package awsevents

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// How long things are kept or waited for.
const (
	// unknownFor is how long work is kept whose target nobody has.
	unknownFor = 15 * time.Minute
	// lingerFor is how long a node that AWS announced to take may go on living
	// before it is believed to stay.
	lingerFor = 15 * time.Minute
	// overFor is how long work that is over is remembered, as long as events are
	// delivered again (EventBridge retries for 24 hours).
	overFor = 24 * time.Hour
	// spotDrain is for a Spot warning, which comes two minutes ahead.
	spotDrain = 90 * time.Second
	// deploymentMost is when a deployment whose end was not told is taken for over.
	deploymentMost = time.Hour
	// launchMost is the default time of a lifecycle hook.
	launchMost = time.Hour
)

// work is what there is to do about one matter: its latest event, and how far
// things have come. Instants are the registry's.
type work struct {
	Event Event          `json:"event"`
	Since cluster.Millis `json:"since_ms"`          // when the latest event was merged
	Known cluster.Millis `json:"known_ms,omitzero"` // when a target was first found

	// Targets are those that it has ever found, in text form, sorted.
	Targets []string `json:"targets,omitempty"`
	// Paused is the epoch of the event's pause last seen on a target; zero while
	// there is none. Resumed says that somebody else lifted it.
	Paused  int64 `json:"paused,omitempty"`
	Resumed bool  `json:"resumed,omitempty"`

	Claimed  cluster.Millis `json:"claimed_ms,omitzero"` // when a call of AWS began whose end is not known
	Beat     cluster.Millis `json:"beat_ms,omitzero"`    // when the action was last lengthened
	Tries    int            `json:"tries,omitempty"`     // answers that AWS refused
	Answered string         `json:"answered,omitempty"`  // what AWS was answered, or why it need not be
	Over     cluster.Millis `json:"over_ms,omitzero"`    // since when nothing is left to do
}

func decodeWork(body string) (work, error) {
	var w work
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		return work{}, fmt.Errorf("decode work: %w", err)
	}
	return w, nil
}

func (w *work) encode() (string, error) {
	body, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("encode work %s: %w", w.Event.name(), err)
	}
	return string(body), nil
}

// merge takes e in at now. What is no later word than the one there is changes
// nothing, but that an address told once is kept.
func (w *work) merge(e Event, now cluster.Millis) {
	addresses := slices.Concat(w.Event.Addresses, e.Addresses)
	slices.Sort(addresses)
	if e.after(&w.Event) {
		w.Event, w.Since, w.Over = e, now, 0
		if e.Kind == State { // the instance's next turn
			*w = work{Event: e, Since: now, Targets: w.Targets}
		}
	}
	w.Event.Addresses = slices.Compact(addresses)
}

// until is when w is over, whatever is known by then.
func (w *work) until(c Config) cluster.Millis {
	switch w.Event.Kind {
	case Terminate:
		return w.deadline(c).Add(lingerFor)
	case Launch:
		return w.Since.Add(launchMost)
	case ServiceDeployment, Deployment, InstanceDeployment:
		return w.Since.Add(deploymentMost)
	case Hook, Stage:
		return w.Since.Add(c.HookFor)
	}
	return max(w.Since, w.Known).Add(lingerFor)
}

// deadline is when a drain has taken long enough; zero where it may take any time.
func (w *work) deadline(c Config) cluster.Millis {
	switch w.Event.Kind {
	case Terminate, Task, ServiceDeployment, Deployment:
		return w.Since.Add(c.Drain)
	case Spot:
		return w.Since.Add(spotDrain)
	}
	return 0
}

// forgotten tells whether w need not be kept any longer.
func (w *work) forgotten(c Config, now cluster.Millis) bool {
	switch {
	case w.Over != 0 && (len(w.Targets) > 0 || w.Answered != ""):
		return now >= w.Over.Add(overFor)
	case w.Event.Kind == Launch, w.Event.Kind == Hook, w.Event.Kind == Stage:
		return now >= w.until(c).Add(unknownFor)
	}
	return len(w.Targets) == 0 && w.Answered == "" && now >= w.Since.Add(unknownFor)
}

// pause is what w asks for at now, were it alone.
func (w *work) pause(c Config, now cluster.Millis) cluster.Pause {
	e := &w.Event
	p := cluster.Pause{
		Mode: cluster.Drain, By: by(e.Kind), Reason: e.reason(),
		Since: now, Until: w.until(c), Deadline: w.deadline(c),
	}
	if e.Kind == State || e.Kind == InstanceDeployment || e.State == hibernate {
		p.Mode, p.Deadline = cluster.Redirect, 0 // it goes at once
	}
	return p
}

// byAWS begins the names of all that pause here.
const byAWS = "aws:"

func by(k Kind) string { return byAWS + string(k) }

// reason is for people.
func (e *Event) reason() string {
	switch e.Kind {
	case Terminate:
		return fmt.Sprintf("instance %s of %s terminates", e.Instance, e.Source)
	case Spot:
		return fmt.Sprintf("spot instance %s is interrupted: %s", e.Instance, e.State)
	case Rebalance:
		return fmt.Sprintf("spot instance %s is at risk", e.Instance)
	case State:
		return fmt.Sprintf("instance %s is %s", e.Instance, e.State)
	case Task:
		return "task " + e.Task + " stops"
	case InstanceDeployment:
		return fmt.Sprintf("deployment %s to instance %s is under way", e.Deployment, e.Instance)
	}
	return fmt.Sprintf("deployment %s of %s is under way", e.Deployment, e.Source)
}
