package cluster

import (
	"fmt"
	"slices"

	"golang.org/x/net/http/httpguts"

	"github.com/detourhq/detour/pkg/affinity"
)

// Group is what the registry holds of a group beyond its nodes. A group exists
// once a node or a pause names it, with or without such a record.
type Group struct {
	ID        string   `json:"id"`
	Title     string   `json:"title,omitempty"`
	Service   string   `json:"service,omitempty"`   // groups of one service stand in for each other; empty is a service too
	Fallbacks []string `json:"fallbacks,omitempty"` // groups tried in this order when it has nobody
	Route     string   `json:"route,omitempty"`     // same-host route: the hop parameter ends in ~route
	Hosts     []string `json:"hosts,omitempty"`     // host names that mean this group
	Paths     []string `json:"paths,omitempty"`     // path prefixes, by whole segments, that mean this group

	Rules             []string `json:"rules,omitempty"`               // listener rule ARNs that Detour moves
	TargetGroup       string   `json:"target_group,omitempty"`        // ARN of the nodes' target group
	DetourTargetGroup string   `json:"detour_target_group,omitempty"` // ARN of the redirect function's target group
	Sources           []string `json:"sources,omitempty"`             // asg:NAME, ecs:CLUSTER/SERVICE, codedeploy:APP/GROUP
	Affinity          Affinity `json:"affinity,omitzero"`

	// A rule for bodies too large for the redirect function rests on TargetGroup too;
	// while the group is paused it leads to another group's. Both are set, or neither.
	LargeBodyRule        string `json:"large_body_rule,omitempty"`         // ARN
	LargeBodyTargetGroup string `json:"large_body_target_group,omitempty"` // ARN of the other group's target group
}

// MovedRules returns the ARNs of all listener rules that follow g's pauses.
func (g *Group) MovedRules() []string {
	if g.LargeBodyRule == "" {
		return g.Rules
	}
	return append(slices.Clone(g.Rules), g.LargeBodyRule)
}

// Affinity says how a session names its node.
type Affinity struct {
	Cookie string `json:"cookie,omitempty"` // exact name; empty means the configured default
	Format string `json:"format,omitempty"` // see [affinity.ParseFormat]; empty means any

	// Strict has a session of a known node that cannot take it answered with 503,
	// unless somebody of its domain can: that node's group and its fallbacks. Without
	// it, the session is lost to any node of the service.
	Strict bool `json:"strict,omitempty"`

	// ExpireDead expires the cookie of a session that is led to none of its nodes,
	// unless one is on hold, or of another service: there it lives. It is for sessions
	// that live on one node alone.
	ExpireDead bool `json:"expire_dead,omitempty"`
}

// Check returns nil if a can be stored. Its errors wrap [ErrInvalid].
func (a *Affinity) Check() error {
	if a.Cookie != "" && !httpguts.ValidHeaderFieldName(a.Cookie) {
		return fmt.Errorf("%w: session cookie %.40q is no token (RFC 6265 §4.1.1)", ErrInvalid, a.Cookie)
	}
	if _, err := affinity.ParseFormat(a.Format); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// Check returns nil if g can be stored. Its errors wrap [ErrInvalid].
func (g *Group) Check() error {
	for _, id := range append([]string{g.ID}, g.Fallbacks...) {
		if err := CheckID(id); err != nil {
			return fmt.Errorf("group: %w", err)
		}
	}
	for _, p := range g.Paths {
		if err := CheckContext(p); err != nil {
			return fmt.Errorf("group %s: path: %w", g.ID, err)
		}
	}
	if err := g.Affinity.Check(); err != nil {
		return fmt.Errorf("group %s: %w", g.ID, err)
	}
	return g.checkLargeBody()
}

func (g *Group) checkLargeBody() error {
	switch {
	case (g.LargeBodyRule == "") != (g.LargeBodyTargetGroup == ""):
		return fmt.Errorf("%w: group %s: a rule for large bodies and the target group that it is moved to go together", ErrInvalid, g.ID)
	case g.LargeBodyRule == "":
		return nil
	case slices.Contains(g.Rules, g.LargeBodyRule):
		return fmt.Errorf("%w: group %s: its rule for large bodies is one of its other rules too", ErrInvalid, g.ID)
	case g.LargeBodyTargetGroup == g.TargetGroup:
		return fmt.Errorf("%w: group %s: large bodies would be led to its own target group", ErrInvalid, g.ID)
	}
	return nil
}
