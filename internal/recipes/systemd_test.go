//go:build unix

package recipes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// systemd stands in for systemd(1) with the units of one machine: what their files
// say of order, environment, signals, time limits and restarts.
type systemd struct {
	w     *world
	more  []string // environment of all units
	tasks sync.WaitGroup

	jobs sync.Mutex // one job at a time

	mu      sync.Mutex // guards the following
	enabled []string
	running map[string]*process
	wanted  map[string]bool // not stopped since it was started
	starts  map[string]int
	killed  []string // units that did not end in time
}

var errNoUnit = errors.New("unit not loaded")

func newSystemd(w *world) *systemd {
	s := &systemd{w: w, running: map[string]*process{}, wanted: map[string]bool{}, starts: map[string]int{}}
	w.t.Cleanup(s.tasks.Wait) // after the processes are gone
	w.t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.wanted) // nothing is started again
	})
	return s
}

func (s *systemd) load(name string) (unit, error) {
	text, err := os.ReadFile(filepath.Join(s.w.root, "etc/systemd/system", name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoUnit, err)
	}
	return parseUnit(string(text))
}

// with returns the units whose setting names the unit called name.
func (s *systemd) with(setting, name string) (found []string) {
	files, _ := filepath.Glob(filepath.Join(s.w.root, "etc/systemd/system/*.service"))
	for _, f := range files {
		if u, err := s.load(filepath.Base(f)); err == nil && slices.Contains(u.words(setting), name) {
			found = append(found, filepath.Base(f))
		}
	}
	return found
}

func (s *systemd) active(name string) bool {
	s.mu.Lock()
	p := s.running[name]
	s.mu.Unlock()
	return p != nil && p.lives()
}

// start starts a unit, after those that it is bound to, and then those enabled ones
// that are wanted by it.
func (s *systemd) start(name string) error {
	u, err := s.load(name)
	if err != nil || s.active(name) {
		return err
	}
	for _, other := range u.words("Unit.BindsTo") {
		if err := s.start(other); err != nil {
			return err
		}
	}
	if err := s.run(name, u); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	for _, other := range s.with("Install.WantedBy", name) {
		if s.isEnabled(other) {
			_ = s.start(other) // it is wanted, not required
		}
	}
	return nil
}

func (s *systemd) isEnabled(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.enabled, name)
}

// run starts a unit's process, and has its end looked after.
func (s *systemd) run(name string, u unit) error {
	own, err := u.settings(s.w.root)
	if err != nil {
		return err
	}
	environment := append(s.w.environment(s.more...), own...)
	argv, err := u.command(s.w.root, environment)
	if err != nil {
		return err
	}
	if dir := u.one("Service.RuntimeDirectory", ""); dir != "" {
		if err := os.MkdirAll(filepath.Join(s.w.root, "run", dir), 0o750); err != nil {
			return err
		}
	}
	p, err := launch(s.w.t, s.w.log, argv, environment)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[name], s.wanted[name] = p, true
	s.starts[name]++
	s.tasks.Go(func() { s.lookAfter(name, u, p) })
	return nil
}

// stop stops a unit. What is bound to it is stopped too: before it, where it says
// that it comes after it, else at the same time.
func (s *systemd) stop(name string) error {
	u, err := s.load(name)
	if err != nil {
		return err
	}
	var beside sync.WaitGroup
	for _, other := range s.with("Unit.BindsTo", name) {
		bound, err := s.load(other)
		if err != nil {
			return err
		}
		if slices.Contains(bound.words("Unit.After"), name) {
			s.end(other, bound)
		} else {
			beside.Go(func() { s.end(other, bound) })
		}
	}
	s.end(name, u)
	beside.Wait()
	return nil
}

// end ends a unit's processes as systemd.kill(5) has it.
func (s *systemd) end(name string, u unit) {
	s.mu.Lock()
	p := s.running[name]
	s.wanted[name] = false
	s.mu.Unlock()
	if p == nil {
		return
	}
	limit, err := u.seconds("Service.TimeoutStopSec", "90")
	if signal := u.one("Service.KillSignal", "SIGTERM"); signal != "SIGTERM" || err != nil {
		s.w.t.Errorf("%s: KillSignal=%s, TimeoutStopSec: %v", name, signal, err)
	}
	switch mode := u.one("Service.KillMode", "control-group"); mode {
	case "mixed":
		p.signal(syscall.SIGTERM)
	case "control-group":
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	default:
		s.w.t.Errorf("%s: the stand-in does not know KillMode=%s", name, mode)
	}
	if !p.within(limit) {
		s.mu.Lock()
		s.killed = append(s.killed, name)
		s.mu.Unlock()
	}
	p.kill()
	<-p.ended
	if dir := u.one("Service.RuntimeDirectory", ""); dir != "" {
		_ = os.RemoveAll(filepath.Join(s.w.root, "run", dir))
	}
}

// lookAfter does what follows when a process ends that was not stopped: units bound
// to it are stopped, and it is started again where Restart=on-failure says so.
func (s *systemd) lookAfter(name string, u unit, p *process) {
	<-p.ended
	s.mu.Lock()
	wanted := s.wanted[name] && s.running[name] == p
	s.mu.Unlock()
	if !wanted {
		return
	}
	s.jobs.Lock()
	defer s.jobs.Unlock()
	for _, other := range s.with("Unit.BindsTo", name) {
		if bound, err := s.load(other); err == nil {
			s.end(other, bound)
		}
	}
	wait, _ := u.seconds("Service.RestartSec", "0")
	if u.one("Service.Restart", "no") != "on-failure" || p.code() == 0 || u.prevents(p.code()) {
		return
	}
	time.Sleep(wait)
	s.mu.Lock()
	wanted = s.wanted[name]
	s.mu.Unlock()
	if wanted {
		_ = s.start(name)
	}
}

// job does one thing after the other, as an operator's calls.
func (s *systemd) job(do func() error) error {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	return do()
}

func (s *systemd) startsOf(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts[name]
}

// shutDown stops all units, as the end of the machine does.
func (s *systemd) shutDown(name string) {
	require.NoError(s.w.t, s.job(func() error { return s.stop(name) }))
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(s.w.t, s.killed)
}
