package main

import (
	"context"
	"log/slog"

	"github.com/detourhq/detour/internal/place"
	"github.com/detourhq/detour/pkg/cluster"
)

// Values of --target that are no target.
const (
	auto = "auto" // ask AWS
	none = "none" // there is none
)

// place has d name its target and task where the flags leave that open. It takes
// two seconds at most.
func (a *app) place(ctx context.Context, d *cluster.Descriptor, log *slog.Logger) {
	asked := d.Target
	if asked == auto || asked == none {
		d.Target = ""
	}
	inECS := a.environment["ECS_CONTAINER_METADATA_URI_V4"] != ""
	if asked == none || asked != auto && (d.Task != "" || !inECS) {
		return
	}
	found, err := place.Find(ctx, a.environment)
	if err != nil {
		log.InfoContext(ctx, "AWS does not say what this node is to it: its events will not find the node", "err", err)
	}
	if asked == auto {
		d.Target = found.Target
	}
	if d.Task == "" {
		d.Task = found.Task
	}
	if d.Target != "" || d.Task != "" {
		log.InfoContext(ctx, "place found", "target", d.Target, "task", d.Task)
	}
}
