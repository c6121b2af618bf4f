package entry

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/gate"
)

// socket is what a valve needs of a [gate.Socket].
type socket interface {
	Set(paused bool)
	Figures() cluster.Figures
	Reporters() int
}

// Valve has a unix-socket gate follow the pauses of its node. A paused gate gives no
// request its GO: what is behind the application can be worked on, and what waits
// goes on at the resume.
//
// It is paused while a pause of mode redirect, hold or stop covers the node, or the
// node says itself that it is paused. Not so in mode drain until its deadline: the
// gate cannot tell sessions, and those that stay must be served. Nor by the pause
// with which the node ends: no resume follows it, so that what waited would be lost.
type Valve struct {
	socket socket
	node   string
	log    *slog.Logger
	ending atomic.Bool
}

// NewValve returns a valve for the gate of the node with that id.
func NewValve(s socket, node string, log *slog.Logger) *Valve {
	return &Valve{socket: s, node: node, log: log}
}

// Obey takes a new cover of the node, see [agent.Config.OnChange].
func (v *Valve) Obey(c agent.Cover) {
	own := c.Epoch == 0 && c.By == v.node
	if own && v.ending.Load() {
		return // a pause of somebody else's that withheld the GO goes on doing so
	}
	v.socket.Set(c.Paused && c.Mode != cluster.Drain)
	if c.Paused && v.unasked() {
		v.log.Warn("nobody has asked the gate so far: does the application know its path? Its silence proves nothing")
	}
}

func (v *Valve) unasked() bool {
	return v.socket.Figures().Arrivals == 0 && v.socket.Reporters() == 0
}

// Figures returns those of the gate.
func (v *Valve) Figures() cluster.Figures { return v.socket.Figures() }

// end says that the node ends.
func (v *Valve) end() { v.ending.Store(true) }

// lookEvery is how often figures are looked at.
const lookEvery = 50 * time.Millisecond

// silence returns once nothing is in flight and, for as long as is [gate.Needed] for
// least, nothing has arrived. Nothing can be concluded from the silence of a gate
// that nobody has ever asked: then it lasts grace at least. Where ctx leaves no time
// for the rare requests of such a node, least is enough. Otherwise an error says what
// is left when ctx ends.
func (v *Valve) silence(ctx context.Context, least, grace time.Duration) error {
	before := v.socket.Figures()
	if v.unasked() {
		least = max(least, grace)
	}
	quiet, hardly := gate.Quiet{Least: least}, gate.Quiet{Least: least}
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		f, now := v.socket.Figures(), time.Now()
		f.Gap = 0
		enough := hardly.See(f, now)
		f.Gap = before.Gap // not what it becomes while nobody comes
		if quiet.See(f, now) {
			return nil
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			if enough {
				return nil
			}
			return fmt.Errorf("%d requests in flight, %d arrived so far: %w", f.InFlight, f.Arrivals, ctx.Err())
		}
	}
}
