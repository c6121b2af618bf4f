package entry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
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
// It is paused at once by a pause of mode hold or stop. One of mode redirect, or the
// node's own word, pauses it when the node is quiet: until then load balancers that
// have not noticed send what nobody else would answer. Mode drain does not, until its
// deadline: the gate cannot tell sessions, and those that stay must be served. Once
// paused for being quiet it stays so under any further redirect.
//
// The end of the node lets in what only a redirect kept out: no resume follows, so
// that what waited would be lost.
type Valve struct {
	socket socket
	node   string
	least  time.Duration // see [gate.Needed]
	log    *slog.Logger
	ending atomic.Bool

	life    context.Context
	mu      sync.Mutex         // guards the following, and is held while the socket is set
	forgive context.CancelFunc // ends the wait for the node to be quiet; nil if there is none
	quiet   bool               // the GO is withheld since the node is
	gap     *cluster.Millis    // the figure when the pause began; nil while there is none
}

// NewValve returns a valve for the gate of the node with that id, which is quiet when
// nothing arrives for least or longer. It works until ctx ends.
func NewValve(ctx context.Context, s socket, node string, least time.Duration, log *slog.Logger) *Valve {
	return &Valve{socket: s, node: node, least: least, log: log, life: ctx}
}

// Obey takes a new cover of the node, see [agent.Config.OnChange].
func (v *Valve) Obey(c agent.Cover) {
	own := c.Epoch == 0 && c.By == v.node
	if own && v.ending.Load() {
		return // a pause of somebody else's that withheld the GO goes on doing so
	}
	v.follow(c)
	if c.Paused && v.unasked() {
		v.log.Warn("nobody has asked the gate so far: does the application know its path? Its silence proves nothing")
	}
}

func (v *Valve) follow(c agent.Cover) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waitNoMore()
	switch gap := v.socket.Figures().Gap; {
	case !c.Paused:
		v.gap = nil
	case v.gap == nil:
		v.gap = &gap
	}
	redirects := c.Mode == cluster.Redirect && !v.ending.Load()
	v.quiet = v.quiet && redirects
	v.socket.Set(v.quiet || c.Mode == cluster.Hold || c.Mode == cluster.Stop)
	if redirects && !v.quiet {
		var ctx context.Context
		ctx, v.forgive = context.WithCancel(v.life)
		go v.closeOnceQuiet(ctx)
	}
}

// waitNoMore ends the wait for the node to be quiet, if there is one. The lock is held.
func (v *Valve) waitNoMore() {
	if v.forgive != nil {
		v.forgive()
		v.forgive = nil
	}
}

// closeOnceQuiet withholds the GO once the node is quiet, unless ctx ends before.
func (v *Valve) closeOnceQuiet(ctx context.Context) {
	if v.silence(ctx, v.least, 0) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() == nil {
		v.log.InfoContext(ctx, "node is quiet, its gate withholds the GO from now on")
		v.quiet = true
		v.socket.Set(true)
	}
}

func (v *Valve) unasked() bool {
	return v.socket.Figures().Arrivals == 0 && v.socket.Reporters() == 0
}

// Figures returns those of the gate. The gap is that before the pause: what comes
// during one says nothing of how often requests come.
func (v *Valve) Figures() cluster.Figures {
	f := v.socket.Figures()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gap != nil {
		f.Gap = *v.gap
	}
	return f
}

// end says that the node ends.
func (v *Valve) end() {
	v.ending.Store(true)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waitNoMore()
	if v.quiet {
		v.quiet = false
		v.socket.Set(false)
	}
}

// lookEvery is how often figures are looked at.
const lookEvery = 50 * time.Millisecond

// silence returns once nothing is in flight and, for as long as is [gate.Needed] for
// least, nothing has arrived. Nothing can be concluded from the silence of a gate
// that nobody has ever asked: then it lasts grace at least. Where ctx leaves no time
// for the rare requests of such a node, least is enough. Otherwise an error says what
// is left when ctx ends.
func (v *Valve) silence(ctx context.Context, least, grace time.Duration) error {
	before := v.Figures()
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
