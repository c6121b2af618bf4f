package rules

// State is how a rule stands after a pass.
type State string

// The states.
const (
	Resting   State = "resting"   // as its owner made it
	Moved     State = "moved"     // as the pauses want it, read back
	Pending   State = "pending"   // not yet as it should be; a later pass goes on
	Foreign   State = "foreign"   // somebody else's, or changed by somebody else
	Contested State = "contested" // written several times, and changed back each time
	Denied    State = "denied"    // AWS lets Detour not do it
	Refused   State = "refused"   // cannot be moved, or nobody would be left
)

// Report is what a pass found and did.
type Report struct {
	Rules  []RuleState // by ARN
	Memory Memory      // for the next pass; of all rules, those not looked at included

	// Overtaken says that the registry moved on: the rest is for a pass on a newer
	// snapshot.
	Overtaken bool
}

// RuleState is what there is to say of one rule.
type RuleState struct {
	ARN    string   `json:"arn"`
	Groups []string `json:"groups,omitempty"` // ids of the groups that list it
	State  State    `json:"state"`
	Was    State    `json:"-"`             // before this pass, [Resting] if nobody knows
	Why    string   `json:"why,omitempty"` // for people
	Change *Change  `json:"change,omitempty"`

	// Stuck says that somebody has to see to the rule: it is contested, or foreign, and
	// not just for the time of a deployment.
	Stuck bool `json:"-"`

	// Event is what has become of the rule since the last event: rule.moved,
	// rule.contested or rule.foreign, and rule.restored once it is at rest again;
	// empty if that is nothing new. What passes by (pending, refused, denied) is none.
	Event string `json:"-"`
}

// Change is what was written, or would be in a dry run.
type Change struct {
	Before Forward `json:"before"`
	After  Forward `json:"after"`
}

// stateError ends the work on a rule in a state.
type stateError struct {
	state  State
	why    string
	gone   bool // there is no such rule
	passes bool // it ends without anybody's doing
}

func (e *stateError) Error() string { return string(e.state) + ": " + e.why }
