package gate

import (
	"hash/maphash"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/detourhq/detour/pkg/affinity"
)

// mostSessions bounds what is remembered: about 10 MB. Beyond it sessions are
// not counted, and what is counted is at least so many.
const mostSessions = 100_000

// sessions estimates how many sessions a node has by those that it has seen. The
// sessions of this period and those of the one before count, so that one is
// forgotten when it was silent for one to two periods.
type sessions struct {
	period time.Duration
	seed   maphash.Seed

	mu       sync.Mutex // guards the following
	began    time.Time  // this period
	now, old map[uint64]struct{}
}

func newSessions(period time.Duration) *sessions {
	return &sessions{period: period, seed: maphash.MakeSeed(), now: make(map[uint64]struct{})}
}

// see notes that the session is alive.
func (s *sessions) see(session string, at time.Time) {
	key := maphash.String(s.seed, session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(at)
	if _, known := s.now[key]; known {
		return
	}
	delete(s.old, key)
	if len(s.now)+len(s.old) < mostSessions {
		s.now[key] = struct{}{}
	}
}

// forget notes that the session lives elsewhere.
func (s *sessions) forget(session string) {
	key := maphash.String(s.seed, session)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, key)
	delete(s.old, key)
}

func (s *sessions) count(at time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(at)
	return int64(len(s.now) + len(s.old))
}

// turn begins a new period when the last one is over.
func (s *sessions) turn(at time.Time) {
	age := at.Sub(s.began)
	if 0 <= age && age < s.period {
		return
	}
	s.old, s.began = s.now, s.began.Add(s.period)
	switch {
	case age >= 2*s.period:
		s.old, s.began = nil, at
	case age < 0: // the clock stepped back
		s.began = at
	}
	s.now = make(map[uint64]struct{})
}

// sessionOf returns the session of r by the group's cookie, or else by the path
// parameter that stands in for it; empty if by neither. Of a WebLogic session it is
// the part that does not change while the session lives, the one before the first
// '!'.
func (st *state) sessionOf(r *http.Request) string {
	if st.cookie == "" {
		return ""
	}
	for _, line := range r.Header["Cookie"] {
		if value, _, found := affinity.CutCookie(line, st.cookie); found && value != "" {
			return lasting(value)
		}
	}
	value, _, _ := st.parameter.Cut(r.URL.Path)
	return lasting(value)
}

func lasting(session string) string {
	session, _, _ = strings.Cut(session, "!")
	return session
}
