package demo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgressIsReportedAtEachPhaseAndInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []Progress
		m := newMonitor(time.Now())
		stop := m.watch(func(p Progress) { got = append(got, p) })
		m.enter("starting")
		synctest.Wait()
		time.Sleep(reportEvery + 50*time.Millisecond)

		deployed, waiting := &node{}, &node{}
		deployed.version.Store(2)
		waiting.version.Store(1)
		m.observe(newTally(time.Now()), &world{config: Config{Rounds: 3}, nodes: []*node{deployed, waiting}})
		m.enter("pausing blue")
		synctest.Wait()
		m.tally.add(outcome{status: 200, redirected: true}, time.Now(), m.current())
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
