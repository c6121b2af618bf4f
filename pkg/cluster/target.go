package cluster

import (
	"fmt"
	"strings"
)

// Kind says how wide a [Target] reaches.
type Kind string

// The kinds of targets, from the narrowest to the widest.
const (
	ContextKind Kind = "context"
	NodeKind    Kind = "node"
	GroupKind   Kind = "group"
	AllKind     Kind = "all"
)

// Target is what a pause is put on. Its text form is node:ID, group:ID,
// context:NODE/PATH or all.
type Target struct {
	Kind Kind
	ID   string // node or group id; the node's id for a context; empty for all
	Path string // the context, beginning with '/'; empty for the other kinds
}

// All is the target that covers every node.
var All = Target{Kind: AllKind}

// NodeTarget returns the target that covers one node.
func NodeTarget(id string) Target { return Target{Kind: NodeKind, ID: id} }

// GroupTarget returns the target that covers every node of a group.
func GroupTarget(id string) Target { return Target{Kind: GroupKind, ID: id} }

// ParseTarget reads the text form. The error wraps [ErrInvalid] and shows the
// forms that there are.
func ParseTarget(s string) (Target, error) {
	kind, rest, _ := strings.Cut(s, ":")
	t := Target{Kind: Kind(kind), ID: rest}
	switch {
	case s == string(AllKind):
		return All, nil
	case t.Kind == NodeKind, t.Kind == GroupKind:
		return t, CheckID(t.ID)
	case t.Kind == ContextKind:
		return parseContext(rest)
	}
	return Target{}, fmt.Errorf("%w: target %.60q is none of node:ID, group:ID, context:NODE/PATH, all", ErrInvalid, s)
}

func parseContext(s string) (Target, error) {
	slash := strings.IndexByte(s, '/')
	if slash < 0 {
		return Target{}, fmt.Errorf("%w: target context:%.60s names no path: context:NODE/PATH", ErrInvalid, s)
	}
	t := Target{Kind: ContextKind, ID: s[:slash], Path: s[slash:]}
	if err := CheckID(t.ID); err != nil {
		return Target{}, err
	}
	return t, CheckContext(t.Path)
}

// String returns the text form.
func (t Target) String() string {
	if t.Kind == AllKind {
		return string(AllKind)
	}
	return string(t.Kind) + ":" + t.ID + t.Path
}

// Reaches reports whether a pause on t covers n, in whole or in part.
func (t Target) Reaches(n *Node) bool {
	switch t.Kind {
	case AllKind:
		return true
	case GroupKind:
		return t.ID == n.Group
	}
	return t.ID == n.ID
}
