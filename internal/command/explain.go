package command

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"

	"github.com/detourhq/detour/pkg/redirect"
)

// Explained says how a request for a URL would be answered now, and why.
type Explained struct {
	URL        string           `json:"url"`
	Outcome    redirect.Outcome `json:"outcome"`
	StatusCode int              `json:"status_code"`
	Reason     string           `json:"reason,omitempty"`
	Hold       bool             `json:"hold"`              // the answer is for when patience ends: the function may hold the request until then
	Session    string           `json:"session,omitempty"` // what becomes of its session, for people
	Pass       string           `json:"pass,omitempty"`    // the node that a valid pass leads to
	Location   string           `json:"location,omitempty"`
	Node       string           `json:"node,omitempty"` // the one picked this time; by chance, where several are offered
	Service    string           `json:"service"`
	Group      string           `json:"group,omitempty"`       // the origin's, where it is known
	OriginNode string           `json:"origin_node,omitempty"` // where the origin is one node
	Hops       int              `json:"hops"`
	Epoch      int64            `json:"epoch"`
	Nodes      []NodeVerdict    `json:"nodes"` // of the service
}

// NodeVerdict says whether one node is offered, and why.
type NodeVerdict struct {
	ID      string `json:"id"`
	Group   string `json:"group"`
	Offered bool   `json:"offered"`
	Why     string `json:"why"`
}

func (r *Runner) explain(ctx context.Context, c Command) (any, error) {
	req, err := request(c)
	if err != nil {
		return nil, err
	}
	s, err := r.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	redirector := redirect.New(r.Redirect, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	x := redirector.Explain(&req, s, s.Time)
	result := &Explained{
		URL: c.URL, Outcome: x.Decision.Outcome, StatusCode: x.Decision.Status, Reason: x.Decision.Reason,
		Location: x.Decision.Header.Get("Location"), Service: x.Service, Group: x.Group, OriginNode: x.Node,
		Hops: x.Hops, Epoch: s.Epoch, Nodes: []NodeVerdict{},
		Hold: x.Decision.Hold, Session: x.Session, Pass: x.Pass,
	}
	if x.Decision.Node != nil {
		result.Node = x.Decision.Node.ID
	}
	for _, v := range x.Verdicts {
		result.Nodes = append(result.Nodes, NodeVerdict{v.Node.ID, v.Node.Group, v.Offered, v.Why})
	}
	return result, nil
}

// request is what a load balancer would hand on of a request for c.URL, which is
// a URL or a path alone.
func request(c Command) (redirect.Request, error) {
	raw, _, _ := strings.Cut(c.URL, "#")
	req := redirect.Request{Method: cmp.Or(c.Method, "GET"), Path: raw}
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || scheme != "http" && scheme != "https" {
			return req, fmt.Errorf("%w: %.80q is neither an http or https URL nor a path", ErrUsage, c.URL)
		}
		req.Header = redirect.Header{{Name: "Host", Value: u.Host}, {Name: "X-Forwarded-Proto", Value: scheme}}
		req.Path = "/"
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			req.Path = rest[i:]
		}
	}
	if c.Cookie != "" {
		req.Header = append(req.Header, redirect.Field{Name: "Cookie", Value: c.Cookie})
	}
	req.Path, req.Query, _ = strings.Cut(req.Path, "?")
	req.Path = cmp.Or(req.Path, "/")
	if !strings.HasPrefix(req.Path, "/") {
		return req, fmt.Errorf("%w: %.80q is neither an http or https URL nor a path", ErrUsage, c.URL)
	}
	return req, nil
}
