package registrytest_test

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

// call is one method of a registry, with arguments that would change something.
type call = func(ctx context.Context, r *cluster.Registry) error

func writesOfNodes(d cluster.Descriptor) map[string]call {
	rep := cluster.Report{Generation: d.Generation, Status: cluster.Paused}
	return map[string]call{
		"Register": func(ctx context.Context, r *cluster.Registry) error { _, _, err := r.Register(ctx, d, rep); return err },
		"Pulse": func(ctx context.Context, r *cluster.Registry) error {
			_, err := r.Pulse(ctx, d.ID, d.Generation, nil)
			return err
		},
		"Report": func(ctx context.Context, r *cluster.Registry) error { _, err := r.Report(ctx, d.ID, rep); return err },
		"Leave": func(ctx context.Context, r *cluster.Registry) error {
			_, err := r.Leave(ctx, d.ID, d.Generation)
			return err
		},
		"Reassert": func(ctx context.Context, r *cluster.Registry) error {
			_, err := r.Reassert(ctx, cluster.NodeTarget(d.ID), cluster.Pause{}, d.ID)
			return err
		},
	}
}

func writesOfHeartbeat() map[string]call {
	return map[string]call{
		"Resume": func(ctx context.Context, r *cluster.Registry) error {
			_, _, err := r.Resume(ctx, cluster.All, "x", "")
			return err
		},
		"ChangeGroup": func(ctx context.Context, r *cluster.Registry) error {
			_, err := r.ChangeGroup(ctx, "blue", func(g *cluster.Group) error { g.Title = "x"; return nil })
			return err
		},
		"AcquireLease": func(ctx context.Context, r *cluster.Registry) error {
			_, err := r.AcquireLease(ctx, "x", time.Minute)
			return err
		},
		"Tidy": func(ctx context.Context, r *cluster.Registry) error {
			_, err := r.Tidy(ctx, cluster.Lease{}, cluster.SweepNotes{}, []cluster.Target{cluster.All})
			return err
		},
		"SwapWork": func(ctx context.Context, r *cluster.Registry) error { return r.SwapWork(ctx, nil, "x", "", "{}") },
		"MarkSeen": func(ctx context.Context, r *cluster.Registry) error { return r.MarkSeen(ctx, "x") },
		"Erase": func(ctx context.Context, r *cluster.Registry) error {
			return r.Erase(ctx, cluster.Millis(time.Now().UnixMilli()))
		},
	}
}

func merge(all ...map[string]call) map[string]call {
	one := make(map[string]call)
	for _, m := range all {
		maps.Copy(one, m)
	}
	return one
}

// words splits a command; what begins with ':' is a key or the channel.
func words(line string) []any {
	var list []any
	for _, w := range strings.Fields(line) {
		if strings.HasPrefix(w, ":") {
			w = prefix + w
		}
		list = append(list, w)
	}
	return list
}
