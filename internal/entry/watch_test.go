package entry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/agent"
	"github.com/detourhq/detour/pkg/cluster"
)

// said is a node that remembers what it is to say, and when.
type said struct {
	began time.Time
	words []string
}

func (*said) Start(context.Context) error { return nil }

func (*said) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (*said) Pause(context.Context, string) error { return nil }

func (*said) Leave(context.Context) error { return nil }

func (s *said) SetStatus(_ context.Context, status cluster.Status, reason string) error {
	s.words = append(s.words, fmt.Sprintf("%.0f s: %s %s", time.Since(s.began).Seconds(), status, reason))
	return nil
}

var (
	errIll     = errors.New("answer 500")
	errRefused = fmt.Errorf("probe: %w", syscall.ECONNREFUSED)
)

func TestAnApplicationThatFailsItsProbesIsInError(t *testing.T) {
	up := error(nil)
	for name, row := range map[string]struct {
		answers []error // of the probes, one each second; the last one goes on
		want    []string
	}{
		"never, as long as it answers":                    {[]error{up}, nil},
		"not after one failure":                           {[]error{errIll, up}, nil},
		"nor after two":                                   {[]error{errIll, errIll, up}, nil},
		"nor after many that are not in a row":            {[]error{errIll, errIll, up, errIll, errIll, up}, nil},
		"after three":                                     {[]error{errIll}, []string{"3 s: error answer 500"}},
		"until it answers":                                {[]error{errIll, errIll, errIll, errIll, up}, []string{"3 s: error answer 500", "5 s: active "}},
		"and again":                                       {[]error{errIll, errIll, errIll, up, errIll, errIll, errIll}, []string{"3 s: error answer 500", "4 s: active ", "7 s: error answer 500"}},
		"at once where nobody listens":                    {[]error{errRefused, errRefused, up}, []string{"1 s: error probe: connection refused", "3 s: active "}},
		"at once, though it had begun to fail in between": {[]error{errIll, errRefused}, []string{"2 s: error probe: connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &said{began: time.Now()}
				probes := 0
				e := New(Config{Node: n, Status: cluster.Active, Log: slog.New(slog.DiscardHandler), Watch: &Watch{Every: time.Second}})
				e.Watch.Probe = func(context.Context) error {
					probes++
					return row.answers[min(probes, len(row.answers))-1]
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
				defer cancel()
				e.begin(ctx)
				<-e.announced
				assert.Equal(t, row.want, n.words)
				assert.Equal(t, 10, probes)
			})
		})
	}
}

// A gate says on its health path that a paused node takes no traffic.
func TestAPausedNodeIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &said{began: time.Now()}
		e := New(Config{Node: n, Status: cluster.Active, Log: slog.New(slog.DiscardHandler), Watch: &Watch{Every: time.Second}})
		e.Watch.Probe = func(context.Context) error {
			assert.False(t, e.Watch.paused.Load())
			return errIll
		}
		e.Watch.Obey(agent.Cover{Paused: true})
		time.AfterFunc(9500*time.Millisecond, func() { e.Watch.Obey(agent.Cover{}) })
		e.begin(t.Context())
		time.Sleep(12500 * time.Millisecond)
		assert.True(t, e.settle(), "the node is registered, and nobody changes its status any more")
		assert.Equal(t, []string{"12 s: error answer 500"}, n.words)
	})
}

func TestACrowdedNodeIsOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, began := &said{began: time.Now()}, time.Now()
		inFlight := []int64{99, 100, 100, 91, 100, 90, 99, 90, 100, 89, 0} // one each second
		figures := func() cluster.Figures {
			return cluster.Figures{InFlight: inFlight[min(int(time.Since(began).Seconds()), len(inFlight)-1)]}
		}
		e := New(Config{
			Node: n, Status: cluster.Active, Log: slog.New(slog.DiscardHandler),
			Gate: newValve(t, &fake{figures: figures}, &journal{}), Watch: &Watch{Most: 100, Every: time.Second},
		})
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		e.begin(ctx)
		<-e.announced
		assert.Equal(t, []string{"1 s: overloaded requests in flight: 100", "9 s: active "}, n.words)
	})
}

func TestAnErrorIsMoreThanACrowd(t *testing.T) {
	ill := condition{failed: enough, cause: errIll, crowded: true}
	status, reason := ill.word(cluster.Active)
	assert.Equal(t, cluster.Faulty, status)
	assert.Equal(t, errIll.Error(), reason)
}
