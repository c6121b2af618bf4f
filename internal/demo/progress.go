package demo

import (
	"sync"
	"time"

	"github.com/detourhq/detour/internal/traffic"
)

// Progress is how the demo goes.
type Progress struct {
	Elapsed time.Duration // since Run was called
	Phase   string        // "pausing blue", "deploying green-1", …

	// So far: all requests, those with the right answer, those without, and
	// those that followed a redirect.
	Requests, OK, Failed, Redirected int

	// NodesTotal counts each node once per round.
	NodesDeployed, NodesTotal int
}

// reportEvery is the longest time between two reports.
const reportEvery = 200 * time.Millisecond

// monitor knows the phase, and reports the progress.
type monitor struct {
	began   time.Time
	changed chan struct{} // holds a token when a phase has not been reported

	mu    sync.Mutex // guards the following
	phase string

	// Both are nil before the load begins.
	counts   func() traffic.Result
	deployed func() (done, total int)
}

func newMonitor(began time.Time) *monitor {
	return &monitor{began: began, changed: make(chan struct{}, 1)}
}

// enter begins a phase.
func (m *monitor) enter(phase string) {
	m.mu.Lock()
	m.phase = phase
	m.mu.Unlock()
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// current returns the phase.
func (m *monitor) current() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.phase
}

// observe has the progress tell what counts and deployed do from now on.
func (m *monitor) observe(counts func() traffic.Result, deployed func() (done, total int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts, m.deployed = counts, deployed
}

func (m *monitor) progress(now time.Time) Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := Progress{Elapsed: now.Sub(m.began), Phase: m.phase}
	if m.counts == nil {
		return p
	}
	r := m.counts()
	p.Requests, p.OK, p.Failed, p.Redirected = r.Requests, r.OK, r.Failed, r.Redirected
	p.NodesDeployed, p.NodesTotal = m.deployed()
	return p
}

// watch reports until the function returned is called, which waits for the last
// report.
func (m *monitor) watch(report func(Progress)) (stop func()) {
	if report == nil {
		return func() {}
	}
	ending := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-m.changed:
			case <-ending:
				report(m.progress(time.Now()))
				return
			}
			report(m.progress(time.Now()))
		}
	})
	return func() {
		close(ending)
		watching.Wait()
	}
}
