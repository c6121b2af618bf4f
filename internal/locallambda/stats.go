package locallambda

import "time"

// Stats are counts since New.
type Stats struct {
	Invocations int // given to a copy
	Throttles   int // refused with ErrThrottled
	ColdStarts  int // copies started, failed starts included
	Frozen      int // times that a copy was stopped after an answer

	// LastStart is how long the latest successful cold start took, from
	// before the process existed until it asked for work.
	LastStart time.Duration
}

// Stats returns the counts so far. What Invoke did is counted when it returns.
func (h *Host) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// Pids returns the process ids of the copies that live, in no order: for
// tests that inspect or kill them.
func (h *Host) Pids() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	pids := make([]int, 0, len(h.alive))
	for c := range h.alive {
		if c.alive() { // one that has ended stays listed until it is reaped
			pids = append(pids, c.cmd.Process.Pid)
		}
	}
	return pids
}

func (h *Host) count(change func(*Stats)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.counts)
}
