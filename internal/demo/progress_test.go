package demo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/traffic"
)

func TestProgressIsReportedAtEachPhaseAndInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []Progress
		m := newMonitor(time.Now())
		stop := m.watch(func(p Progress) { got = append(got, p) })
		m.enter("starting")
		synctest.Wait()
		time.Sleep(reportEvery + 50*time.Millisecond)

		var counts traffic.Result
		m.observe(func() traffic.Result { return counts }, func() (int, int) { return 1, 6 })
		m.enter("pausing blue")
		synctest.Wait()
		counts = traffic.Result{Requests: 1, OK: 1, Redirected: 1}
		stop()
		assert.Equal(t, []Progress{
			{Phase: "starting"},
			{Phase: "starting", Elapsed: 200 * time.Millisecond},
			{Phase: "pausing blue", Elapsed: 250 * time.Millisecond, NodesDeployed: 1, NodesTotal: 6},
			{Phase: "pausing blue", Elapsed: 250 * time.Millisecond, NodesDeployed: 1, NodesTotal: 6, Requests: 1, OK: 1, Redirected: 1},
		}, got)
	})
}

func TestNobodyNeedsToWatch(*testing.T) {
	m := newMonitor(time.Now())
	stop := m.watch(nil)
	m.enter("starting")
	m.enter("done")
	stop()
}
