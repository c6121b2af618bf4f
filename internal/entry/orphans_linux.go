package entry

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// orphans are processes that the application started and that outlived whoever
// started them. The kernel makes them children of process 1, or of the nearest
// ancestor that asked for them (prctl(2), PR_SET_CHILD_SUBREAPER); if that one does
// not ask how they ended, they stay as zombies and fill the table of processes.
type orphans struct{ died chan os.Signal }

// adopt asks for them.
func adopt() orphans {
	// An old kernel that refuses leaves them to process 1, as they were before.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	o := orphans{died: make(chan os.Signal, 1)}
	signal.Notify(o.died, syscall.SIGCHLD)
	return o
}

func (o orphans) release() { signal.Stop(o.died) }

// between is the least time between two looks at all processes: a machine may have
// thousands.
const between = time.Second

// bury asks how each dead orphan ended, until the application has ended.
func (o orphans) bury(app int, over <-chan struct{}) {
	defer o.release()
	for {
		select {
		case <-o.died:
		case <-over:
			return
		}
		for _, pid := range deadOrphans("/proc", os.Getpid(), syscall.Getpgrp()) {
			if pid != app {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			}
		}
		pause := time.NewTimer(between)
		select {
		case <-pause.C:
		case <-over:
			pause.Stop()
			return
		}
	}
}

// deadOrphans returns the zombies among the children of parent, but those in its
// own process group: they were started by this very program, which waits for each
// of them where it started it. The application has a group of its own.
func deadOrphans(proc string, parent, group int) (pids []int) {
	files, _ := filepath.Glob(filepath.Join(proc, "[1-9]*", "stat"))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // ended meanwhile, or not ours to see
		}
		if s, ok := parseStat(string(raw)); ok && s.state == "Z" && s.parent == parent && s.group != group {
			pids = append(pids, s.pid)
		}
	}
	return pids
}

// stat is the beginning of /proc/PID/stat.
type stat struct {
	pid, parent, group int
	state              string
}

// parseStat reads proc_pid_stat(5). The command's name, in parentheses, may hold
// spaces and parentheses itself.
func parseStat(line string) (s stat, ok bool) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	rest := strings.Fields(line[end+1:])
	if len(rest) < 3 {
		return stat{}, false
	}
	var errs [3]error
	s.pid, errs[0] = strconv.Atoi(strings.TrimSpace(line[:open]))
	s.state = rest[0]
	s.parent, errs[1] = strconv.Atoi(rest[1])
	s.group, errs[2] = strconv.Atoi(rest[2])
	return s, errs == [3]error{} && s.pid > 0
}
