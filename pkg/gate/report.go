package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	greeting    = "GATE 1\n" // a reporter's first line: the version of what follows
	reportEvery = 250 * time.Millisecond
	mostLine    = 1 << 10         // bytes of a report, the line's end included
	mostCount   = 1<<53 - 1       // the largest integer that JSON holds everywhere (RFC 8259 §6)
	writeWithin = 1 * time.Second // a report that the socket does not take by then is given up
)

// report is one line of a reporter: its figures of the moment.
type report struct {
	ID     string `json:"id,omitempty"` // the same for as long as Arrivals go on counting
	Paused bool   `json:"paused"`       // for people who listen in
	cluster.Figures
}

var errReport = errors.New("gate: not a report")

// parseReport reads one line. Numbers that nobody can have are brought to the
// nearest that somebody can. Who says no load has that of its requests in flight.
func parseReport(line []byte) (report, error) {
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		return report{}, fmt.Errorf("%w: %w", errReport, err)
	}
	for _, n := range [...]*int64{&r.InFlight, &r.Sessions, &r.Arrivals, &r.SeenEpoch, (*int64)(&r.LastArrival), (*int64)(&r.Gap)} {
		*n = min(max(*n, 0), mostCount)
	}
	if r.Load = min(max(r.Load, 0), mostCount); r.Load == 0 {
		r.Load = float64(r.InFlight)
	}
	return r, nil
}

// report sends the gate's figures to the socket, and connects anew when it must.
func (g *Gate) report(ctx context.Context) {
	ticks := time.NewTicker(reportEvery)
	defer ticks.Stop()
	id := fmt.Sprintf("%016x", g.config.Random.Uint64())
	for failing := false; ctx.Err() == nil; {
		err := g.reportUntil(ctx, id, ticks.C, func() { failing = false })
		if ctx.Err() == nil && !failing {
			g.config.Log.WarnContext(ctx, "gate cannot report its figures", "err", err)
			failing = true
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
		}
	}
}

// reportUntil sends a report at each tick until that fails or ctx ends. It calls
// works once one was sent.
func (g *Gate) reportUntil(ctx context.Context, id string, ticks <-chan time.Time, works func()) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", g.config.Report)
	if err != nil {
		return fmt.Errorf("dial gate socket: %w", err)
	}
	defer func() { _ = conn.Close() }()
	line := bytes.NewBufferString(greeting)
	for {
		if err := json.NewEncoder(line).Encode(report{ID: id, Paused: !g.state.Load().open, Figures: g.Figures()}); err != nil {
			return fmt.Errorf("encode report: %w", err)
		}
		if err := conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
			return fmt.Errorf("report to gate socket: %w", err)
		}
		if _, err := line.WriteTo(conn); err != nil {
			return fmt.Errorf("report to gate socket: %w", err)
		}
		works()
		select {
		case <-ticks:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
