package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// StaticGroup is the group of the nodes of a static list.
const StaticGroup = "static"

// Static returns a snapshot of nodes that need no registry: one active node for
// each endpoint, never stale. The node's id is its endpoint without the scheme,
// with what no id may hold turned to '-'. Two endpoints of one id, or one out of
// form, give an error that wraps [ErrInvalid].
func Static(endpoints []string, wall time.Time) (*Snapshot, error) {
	s := &Snapshot{Time: Millis(wall.UnixMilli()), ReadAt: wall}
	for _, e := range endpoints {
		e = strings.TrimSuffix(strings.TrimSpace(e), "/")
		n := Node{
			Descriptor: Descriptor{ID: staticID(e), Group: StaticGroup, Endpoint: e, Weight: DefaultWeight},
			Report:     Report{Status: Active},
			Pulse:      forever,
		}
		if err := n.Check(); err != nil {
			return nil, fmt.Errorf("static node: %w", err)
		}
		s.Nodes = append(s.Nodes, n)
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(s.Nodes); i++ {
		if s.Nodes[i].ID == s.Nodes[i-1].ID {
			return nil, fmt.Errorf("%w: static node %s is listed twice", ErrInvalid, s.Nodes[i].Endpoint)
		}
	}
	return s, nil
}

func staticID(endpoint string) string {
	_, rest, _ := strings.Cut(endpoint, "://")
	return strings.Map(func(r rune) rune {
		if r < 0x80 && idByte(byte(r)) {
			return r
		}
		return '-'
	}, rest[:min(len(rest), maxID)])
}
