package gate

import (
	"math"
	"time"

	"github.com/detourhq/detour/pkg/cluster"
)

const (
	mostAccounts = 64
	linger       = time.Second     // for how long the last figures of a broken connection count
	silence      = 2 * time.Second // without a report for longer, what a reporter does is unknown
)

// ledger keeps the figures of reporters. Its zero value is empty; times are of this
// machine's clock.
type ledger struct {
	accounts []*account // of at most mostAccounts reporters
	arrivals int64      // at all that there ever were
}

// account is one reporter.
type account struct {
	id      string // empty for one that cannot be known again
	peer    *peer  // its connection; nil while it has none
	until   time.Time
	heard   time.Time // when it reported last
	figures cluster.Figures
}

// counts reports whether the figures of a count at now.
func (a *account) counts(now time.Time) bool { return a.peer != nil || now.Before(a.until) }

// seen returns the epoch that the reporter acts on, as far as it is known at now.
func (a *account) seen(now time.Time) int64 {
	if now.Sub(a.heard) > silence {
		return noEpoch
	}
	return max(a.figures.SeenEpoch, noEpoch)
}

// noEpoch is none that somebody waits for. Zero would say that nobody reports.
const noEpoch = 1

// take notes what p reports. What it counted while nobody listened counts too, if
// it is known by its id. false comes back where there are too many reporters.
func (l *ledger) take(p *peer, r report, now time.Time) bool {
	a := l.find(p, r.ID)
	if a == nil {
		if a = l.open(now); a == nil {
			return false
		}
		a.id = r.ID
		if r.ID == "" {
			a.figures.Arrivals = r.Arrivals // since when is unknown
		}
	}
	if r.Arrivals < a.figures.Arrivals {
		a.figures.Arrivals = 0 // it began anew
	}
	l.arrivals = min(l.arrivals+r.Arrivals-a.figures.Arrivals, mostCount)
	a.peer, a.heard, a.figures = p, now, r.Figures
	return true
}

// find returns the account of p, or that of id, nil if there is none.
func (l *ledger) find(p *peer, id string) *account {
	for _, a := range l.accounts {
		if a.id == id && (id != "" || a.peer == p) {
			return a
		}
	}
	return nil
}

// open returns a new account, in place of the one that ended first where there are
// too many; nil if none has ended.
func (l *ledger) open(now time.Time) *account {
	fresh := &account{}
	if len(l.accounts) < mostAccounts {
		l.accounts = append(l.accounts, fresh)
		return fresh
	}
	oldest := -1
	for i, a := range l.accounts {
		if !a.counts(now) && (oldest < 0 || a.until.Before(l.accounts[oldest].until)) {
			oldest = i
		}
	}
	if oldest < 0 {
		return nil
	}
	l.accounts[oldest] = fresh
	return fresh
}

// part notes that p's connection is over.
func (l *ledger) part(p *peer, now time.Time) {
	for _, a := range l.accounts {
		if a.peer == p {
			a.peer, a.until = nil, now.Add(linger)
		}
	}
}

// live returns how many reporters are connected.
func (l *ledger) live() (n int) {
	for _, a := range l.accounts {
		if a.peer != nil {
			n++
		}
	}
	return n
}

// merge adds the reporters' figures to f. Of mean gaps the rates are added: between
// two streams of a request per second each, half a second passes.
func (l *ledger) merge(f cluster.Figures, now time.Time) cluster.Figures {
	f.Arrivals += l.arrivals
	perMilli := rate(f.Gap)
	for _, a := range l.accounts {
		f.LastArrival = max(f.LastArrival, a.figures.LastArrival)
		if !a.counts(now) {
			continue
		}
		f.InFlight += a.figures.InFlight
		f.Load += a.figures.Load
		f.Sessions += a.figures.Sessions
		perMilli += rate(a.figures.Gap)
		if seen := a.seen(now); f.SeenEpoch == 0 || seen < f.SeenEpoch {
			f.SeenEpoch = seen
		}
	}
	if f.Gap = 0; perMilli > 0 {
		f.Gap = cluster.Millis(math.Ceil(1 / perMilli))
	}
	return f
}

func rate(gap cluster.Millis) float64 {
	if gap <= 0 {
		return 0
	}
	return 1 / float64(gap)
}
