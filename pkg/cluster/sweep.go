package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Lease is the right to sweep, for a time. Its fence rises from holder to
// holder: the registry refuses the changes of a sweeper that was overtaken.
type Lease struct {
	Token string
	Fence int64
}

// AcquireLease takes the lease for the holder of token, or lengthens it, to ttl
// from now. [ErrHeld] comes back while another holds it, [ErrInvalid] for less
// than a millisecond.
func (r *Registry) AcquireLease(ctx context.Context, token string, ttl time.Duration) (Lease, error) {
	if ttl < time.Millisecond {
		return Lease{}, fmt.Errorf("%w: lease of %s", ErrInvalid, ttl)
	}
	re, err := r.run(ctx, leaseScript, token, ttl.Milliseconds())
	if err != nil {
		return Lease{}, fmt.Errorf("acquire lease: %w", err)
	}
	return Lease{token, re.number}, nil
}

// ReleaseLease gives the lease up; one that is another's already stays.
func (r *Registry) ReleaseLease(ctx context.Context, l Lease) error {
	if _, err := r.run(ctx, leaseScript, l.Token, 0); err != nil && !errors.Is(err, ErrHeld) {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

// sweepBatch bounds what one script does, so that none blocks the registry.
const sweepBatch = 50

// Prune removes those of nodes that have neither pulsed nor registered since
// they were read, and returns their ids. [ErrFenced] comes back when another
// sweeper has taken over; then nothing more was changed.
func (r *Registry) Prune(ctx context.Context, l Lease, nodes []Node) ([]string, error) {
	var gone []string
	for batch := range slices.Chunk(nodes, sweepBatch) {
		re, err := r.run(ctx, pruneScript, readAs(l, batch)...)
		if err != nil {
			return gone, fmt.Errorf("prune: %w", err)
		}
		gone = append(gone, re.list...)
	}
	return gone, nil
}

// Stamp writes a pulse of now for those of nodes that have neither pulsed nor
// registered since they were read. The epoch stays. [ErrFenced] as for Prune.
func (r *Registry) Stamp(ctx context.Context, l Lease, nodes []Node) error {
	for batch := range slices.Chunk(nodes, sweepBatch) {
		if _, err := r.run(ctx, stampScript, readAs(l, batch)...); err != nil {
			return fmt.Errorf("stamp: %w", err)
		}
	}
	return nil
}

// readAs lists the fence and then what the scripts compare each node by.
func readAs(l Lease, nodes []Node) []any {
	args := []any{l.Fence}
	for _, n := range nodes {
		args = append(args, n.ID, int64(n.Pulse), string(n.Generation))
	}
	return args
}

// SweepNotes are what one sweep leaves to the next, whoever makes it.
type SweepNotes struct {
	At       Millis `json:"at_ms"`            // when it was made; zero means never
	Epoch    int64  `json:"epoch"`            // the registry's epoch then
	AllStale int    `json:"all_stale"`        // consecutive sweeps until then that found every node stale
	Hold     Millis `json:"hold_ms,omitzero"` // until when nothing is pruned

	// Unreadable says that there were notes of which nothing is known: the rest
	// is zero.
	Unreadable bool `json:"-"`
}

// Notes returns the notes of the last sweep, zero before the first one.
func (r *Registry) Notes(ctx context.Context) (SweepNotes, error) {
	body, err := r.field(ctx, r.keys.work, "sweep")
	if err != nil {
		return SweepNotes{}, fmt.Errorf("read sweep notes: %w", err)
	}
	var n SweepNotes
	if body != "" && (json.Unmarshal([]byte(body), &n) != nil || n.At <= 0) {
		return SweepNotes{Unreadable: true}, nil
	}
	return n, nil
}

// Tidy stores notes, ends the pauses on targets whose time is over, and returns
// the targets whose pauses ended. [ErrFenced] as for Prune.
func (r *Registry) Tidy(ctx context.Context, l Lease, notes SweepNotes, targets []Target) ([]string, error) {
	body, err := json.Marshal(notes)
	if err != nil {
		return nil, fmt.Errorf("encode sweep notes: %w", err)
	}
	var ended []string
	for {
		args := []any{l.Fence, body}
		batch := targets[:min(len(targets), sweepBatch)]
		for _, t := range batch {
			args = append(args, t.String())
		}
		re, err := r.run(ctx, tidyScript, args...)
		if err != nil {
			return ended, fmt.Errorf("tidy: %w", err)
		}
		ended = append(ended, re.list...)
		if targets = targets[len(batch):]; len(targets) == 0 {
			return ended, nil
		}
	}
}
