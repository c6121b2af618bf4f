//go:build unix

package entry_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestThePauseIsPublishedBeforeTheApplicationIsToldAndTheNodeLeavesAfterItEnded(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, []string{"APP_ON_TERM=wait"}, app(t)...)
	awaitReport(t, registry, cluster.Active)

	r.signal(syscall.SIGTERM)
	r.await("got terminated")
	assert.Equal(t, []string{"node.registered active", "node.reported paused"}, events(t, server), "the application has been told, and is not over")
	assert.True(t, r.lives())
	r.tell("/exit?code=0")
	assert.Equal(t, 0, r.code())
	assert.Equal(t, []string{"node.registered active", "node.reported paused", "node.left"}, events(t, server))
}

func TestANodeIsOfferedWhileItsProbeAnswers(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, nil, app(t)...)
	probed := start(t, server.URL, nil, append([]string{"--id", "n2", "--probe", r.url + "/ready", "--pulse-every", "200ms"}, app(t)...)...)
	await := func(want cluster.Status) {
		require.Eventually(t, func() bool { return statusOf(t, registry, "n2") == want }, patience, tick, "n2 never is %q", want)
	}
	await(cluster.Starting)
	awaitReport(t, registry, cluster.Active)
	assert.Equal(t, cluster.Starting, statusOf(t, registry, "n2"), "it is asked, and does not answer 200")
	r.tell("/become-ready")
	await(cluster.Active)
	r.tell("/become-ill")
	await(cluster.Faulty)
	r.tell("/become-ready")
	await(cluster.Active)
	probed.signal(syscall.SIGTERM)
	assert.Equal(t, 0, probed.code())
}

func TestAnApplicationThatIsNotReadyInTimeIsStopped(t *testing.T) {
	_, server := open(t)
	r := start(t, server.URL, nil, append([]string{"--ready", "http://127.0.0.1:1/", "--ready-timeout", "500ms"}, app(t)...)...)
	assert.Equal(t, 1, r.code())
	assert.NotEmpty(t, r.says("got terminated"))
	assert.Equal(t, []string{"node.registered starting", "node.reported error", "node.left"}, events(t, server))
}

func TestHowTheApplicationEndsIsHowTheAgentEnds(t *testing.T) {
	for _, row := range []struct {
		name, order string
		code        int
		events      []string
	}{
		{"by itself and well", "/exit?code=0", 0, []string{"node.registered active", "node.left"}},
		{"by itself and badly", "/exit?code=3", 3, []string{"node.registered active", "node.reported error", "node.left"}},
		{"killed by somebody", "/die", 128 + 9, []string{"node.registered active", "node.reported error", "node.left"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			registry, server := open(t)
			r := start(t, server.URL, nil, app(t)...)
			awaitReport(t, registry, cluster.Active)
			r.tell(row.order)
			assert.Equal(t, row.code, r.code())
			assert.Equal(t, row.events, events(t, server))
		})
	}
}

func TestACodeOfItsOwnAfterSIGTERMIsPassedOn(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, []string{"APP_ON_TERM=wait"}, app(t)...)
	awaitReport(t, registry, cluster.Active)
	r.signal(syscall.SIGTERM)
	r.await("got terminated")
	r.tell("/exit?code=7")
	assert.Equal(t, 7, r.code())
	assert.Equal(t, []string{"node.registered active", "node.reported paused", "node.left"}, events(t, server), "no error: it was told to end")
}

func TestSIGTERMThatKillsTheApplicationIs143(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, nil, "--", "sleep", "60")
	awaitReport(t, registry, cluster.Active)
	r.signal(syscall.SIGTERM)
	assert.Equal(t, 128+15, r.code())
}

func TestACommandThatCannotRunRegistersNothing(t *testing.T) {
	for name, row := range map[string]struct {
		command string
		code    int
	}{
		"there is none on the path":  {"no-such-command", 127},
		"there is none of that name": {"/no/such/command", 127},
		"it is a folder":             {"/", 126},
		"it is no program":           {"whole_test.go", 126},
	} {
		t.Run(name, func(t *testing.T) {
			_, server := open(t)
			command := row.command
			if command == "whole_test.go" {
				command = "./" + command
			}
			r := start(t, server.URL, nil, "--", command)
			assert.Equal(t, row.code, r.code())
			r.logged("start the application: ")
			assert.Empty(t, events(t, server))
		})
	}
}

func TestSignalsAreHandedOn(t *testing.T) {
	registry, server := open(t)
	r := start(t, server.URL, nil, app(t)...)
	awaitReport(t, registry, cluster.Active)
	for s, says := range map[syscall.Signal]string{
		syscall.SIGHUP: "got hangup", syscall.SIGQUIT: "got quit", syscall.SIGUSR1: "got user defined signal 1",
		syscall.SIGUSR2: "got user defined signal 2", syscall.SIGWINCH: "got window changed",
	} {
		r.signal(s)
		r.await(says)
	}
	assert.True(t, r.lives())
	assert.Equal(t, cluster.Active, reports(t, registry))
	r.signal(syscall.SIGINT)
	assert.Equal(t, 0, r.code())
	assert.Empty(t, r.says("got interrupt"), "SIGINT is an order to the agent, and SIGTERM what the application gets")
	assert.NotEmpty(t, r.says("got terminated"))
}
