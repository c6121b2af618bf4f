package cluster

import "fmt"

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
}

// Affinity says how a session names its node.
type Affinity struct {
	Cookie     string `json:"cookie,omitempty"` // exact name; empty means the configured default
	Format     string `json:"format,omitempty"`
	Strict     bool   `json:"strict,omitempty"`
	ExpireDead bool   `json:"expire_dead,omitempty"`
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
	return nil
}
