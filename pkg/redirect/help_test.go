package redirect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

const (
	now       = cluster.Millis(1_700_000_000_000)
	timeout   = 15 * time.Second
	targetARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/"
)

// config is what most tests decide by.
func config(change ...func(*Config)) Config {
	c := Config{Selection: selection.Config{PulseTimeout: timeout}, MaxRedirects: 3, RetryAfter: 5 * time.Second}
	for _, f := range change {
		f(&c)
	}
	return c
}

// source is the same sequence of random numbers in each test. It is for one
// goroutine.
func source() selection.Source { return rand.New(rand.NewPCG(1, 2)) }

func redirector(change ...func(*Config)) *Redirector { return New(config(change...), source()) }

// well returns a node that is offered whatever is asked.
func well(id, group string, change ...func(*cluster.Node)) cluster.Node {
	n := cluster.Node{
		Descriptor: cluster.Descriptor{ID: id, Group: group, Endpoint: "https://" + id + ".example.com", Weight: cluster.DefaultWeight},
		Report:     cluster.Report{Status: cluster.Active},
		Pulse:      now,
	}
	for _, f := range change {
		f(&n)
	}
	return n
}

func at(endpoint string) func(*cluster.Node) { return func(n *cluster.Node) { n.Endpoint = endpoint } }

func contexts(c ...string) func(*cluster.Node) { return func(n *cluster.Node) { n.Contexts = c } }

func status(s cluster.Status) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Report.Status = s }
}

// nodes returns a snapshot without pauses and group records; ids must ascend.
func nodes(n ...cluster.Node) *cluster.Snapshot {
	return &cluster.Snapshot{
		Epoch: 7, Time: now, Nodes: n,
		Pauses: map[cluster.Target]cluster.Pause{}, Groups: map[string]cluster.Group{},
	}
}

// paused returns s with a pause on the target, ending after d unless that is zero.
func paused(s *cluster.Snapshot, target string, d time.Duration) *cluster.Snapshot {
	t, err := cluster.ParseTarget(target)
	if err != nil {
		panic(err)
	}
	p := cluster.Pause{Mode: cluster.Redirect}
	if d != 0 {
		p.Until = now.Add(d)
	}
	s.Pauses[t] = p
	return s
}

// grouped returns s with records of groups.
func grouped(s *cluster.Snapshot, groups ...cluster.Group) *cluster.Snapshot {
	for _, g := range groups {
		s.Groups[g.ID] = g
	}
	return s
}

// get returns a GET of target with header fields in "Name: value" form.
func get(target string, fields ...string) *Request { return request("GET", target, fields...) }

func request(method, target string, fields ...string) *Request {
	r := &Request{Method: method}
	r.Path, r.Query, _ = strings.Cut(target, "?")
	for _, f := range fields {
		name, value, ok := strings.Cut(f, ": ")
		if !ok {
			panic("no header field: " + f)
		}
		r.Header = append(r.Header, Field{name, value})
	}
	return r
}

// through returns req as it came through the target group called name.
func through(name string, req *Request) *Request {
	req.TargetGroup = targetARN + name + "/0123456789abcdef"
	return req
}

// answer decides req as a function does: early if that is possible.
func answer(r *Redirector, req *Request, s *cluster.Snapshot, at cluster.Millis) Decision {
	if d, ok := r.Early(req); ok {
		return d
	}
	return r.Decide(req, s, at)
}

// state returns a value of the parameter made at the instant at.
func state(count int, at cluster.Millis, ids ...string) string {
	h := hop{count: count}
	for _, id := range ids {
		h.mark(selection.MarkOf(id))
	}
	return string(appendHop(nil, &h, at, ""))
}

// led returns where d leads without the query, or its status.
func led(d Decision) string {
	if d.Status != 307 {
		return fmt.Sprint(d.Status)
	}
	location, _, _ := strings.Cut(d.Header.Get("Location"), "?")
	return location
}
