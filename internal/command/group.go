package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/detourhq/detour/pkg/cluster"
)

// groupPut changes only the members that the command gives. A record without a
// target group of the redirect function gets the default one.
func (r *Runner) groupPut(ctx context.Context, c Command) (any, error) {
	if err := cluster.CheckID(c.ID); err != nil {
		return nil, err
	}
	g, err := r.Registry.ChangeGroup(ctx, c.ID, func(g *cluster.Group) error {
		if err := json.Unmarshal([]byte(cmp.Or(string(c.Group), "{}")), g); err != nil {
			return fmt.Errorf("%w: group %s: %w", ErrUsage, c.ID, err)
		}
		if g.ID != c.ID {
			return fmt.Errorf("%w: the record of group %s names group %.40q", ErrUsage, c.ID, g.ID)
		}
		g.DetourTargetGroup = cmp.Or(g.DetourTargetGroup, r.TargetGroup)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &g, nil
}

// Groups lists the groups that have a record, by id.
type Groups struct {
	Groups []cluster.Group `json:"groups"`
}

func (r *Runner) groupList(ctx context.Context, _ Command) (any, error) {
	s, err := r.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	byID := func(a, b cluster.Group) int { return cmp.Compare(a.ID, b.ID) }
	return &Groups{slices.SortedFunc(maps.Values(s.Groups), byID)}, nil
}

// Removed says what a group-rm did.
type Removed struct {
	ID      string `json:"id"`
	Existed bool   `json:"existed"`
}

func (r *Runner) groupRemove(ctx context.Context, c Command) (any, error) {
	if err := cluster.CheckID(c.ID); err != nil {
		return nil, err
	}
	was, err := r.Registry.RemoveGroup(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	return &Removed{ID: c.ID, Existed: was}, nil
}
