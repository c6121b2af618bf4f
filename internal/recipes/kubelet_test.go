//go:build unix

package recipes

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// deployment is what the stand-in reads of a Deployment (Kubernetes API, apps/v1).
type deployment struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   map[string]any
	Spec       struct {
		Replicas           int
		Selector, Strategy map[string]any
		Template           struct {
			Metadata map[string]any
			Spec     struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []podContainer
			}
		}
	}
}

type podContainer struct {
	Name, Image   string
	Command, Args []string
	Lifecycle     struct {
		PreStop struct{ Exec struct{ Command []string } } `yaml:"preStop"`
	}
	Env []struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef     map[string]string `yaml:"fieldRef"`
			SecretKeyRef map[string]string `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports          []map[string]int
	ReadinessProbe struct {
		HTTPGet struct {
			Path string
			Port int
		} `yaml:"httpGet"`
		PeriodSeconds    int `yaml:"periodSeconds"`
		FailureThreshold int `yaml:"failureThreshold"`
	} `yaml:"readinessProbe"`
}

// pod is a running pod with one container.
type pod struct {
	*process
	w           *world
	c           podContainer
	grace       time.Duration
	name        string
	address     string
	environment []string
	failed      error // of the preStop hook
	killed      bool
}

// runPod starts a pod of a recipe, and waits until it is ready and in the target
// group.
func (w *world) runPod(file, name string, edits ...edit) *pod {
	w.t.Helper()
	p := &pod{w: w, name: name, address: w.address()}
	install(w.t, filepath.Join(w.root, name), "1")
	p.read(recipe(w.t, file, append(p.fill(), edits...)...))
	for _, e := range p.c.Env {
		p.environment = append(p.environment, e.Name+"="+p.value(e.Value, e.ValueFrom.FieldRef, e.ValueFrom.SecretKeyRef))
	}
	var err error
	p.process, err = launch(w.t, w.log, p.expand(append(p.c.Command, p.c.Args...)), w.environment(p.environment...))
	require.NoError(w.t, err)
	p.watch()
	w.healthy(p.address)
	return p
}

func (p *pod) fill() []edit {
	ip, port, _ := net.SplitHostPort(p.address)
	return []edit{
		{"https://blue.example.com", "http://" + p.address},
		{`":8080"`, `"` + p.address + `"`},
		{"127.0.0.1", ip},
		{"8080", port},
		{"/tmp/gate.sock", filepath.Join(p.w.root, p.name+".sock")},
		{"/opt/app/run", filepath.Join(p.w.root, p.name, "run")},
	}
}

func (p *pod) read(text string) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	var d deployment
	require.NoError(p.w.t, decoder.Decode(&d))
	spec := d.Spec.Template.Spec
	require.Equal(p.w.t, "apps/v1 Deployment", d.APIVersion+" "+d.Kind)
	require.Len(p.w.t, spec.Containers, 1)
	p.c, p.grace = spec.Containers[0], time.Duration(spec.Grace)*time.Second
}

func (p *pod) value(plain string, field, secret map[string]string) string {
	switch {
	case field["fieldPath"] == "metadata.name":
		return p.name
	case secret["name"] == "detour" && secret["key"] == "redis-url":
		return p.w.redis.URL
	}
	return p.expand([]string{plain})[0]
}

var reference = regexp.MustCompile(`\$\([A-Za-z_]+\)`)

// expand replaces $(NAME) by the container's environment, as Kubernetes does in
// command, args and env; not in hooks. What is not set stays as it is.
func (p *pod) expand(words []string) []string {
	expanded := slices.Clone(words)
	for i, word := range words {
		expanded[i] = reference.ReplaceAllStringFunc(word, func(ref string) string {
			for _, e := range p.environment {
				if name, value, _ := strings.Cut(e, "="); "$("+name+")" == ref {
					return value
				}
			}
			return ref
		})
	}
	return expanded
}

// watch has the pod in the target group while it is ready.
func (p *pod) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { p.probe(ctx) })
	p.w.t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
}

func (p *pod) probe(ctx context.Context) {
	probe := p.c.ReadinessProbe
	url := fmt.Sprintf("http://%s%s", p.address, probe.HTTPGet.Path)
	failures, ready := 0, false
	ticks := time.NewTicker(100 * time.Millisecond) // until it is ready; then so often as is said
	defer ticks.Stop()
	for p.lives() {
		if answers(ctx, url) {
			failures = 0
			if !ready {
				ready = true
				ticks.Reset(time.Duration(probe.PeriodSeconds) * time.Second)
				_ = p.w.alb.Register("blue", p.address) //nolint:contextcheck // it has health checks of its own begin
			}
		} else if failures++; ready && failures >= probe.FailureThreshold {
			p.leaves(ctx)
			return // these pods do not come back
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // timeoutSeconds is 1 by default
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// leaves has the load balancer told that the pod is no endpoint any more.
func (p *pod) leaves(ctx context.Context) {
	select {
	case <-time.After(lag):
		_ = p.w.alb.Deregister("blue", p.address)
	case <-ctx.Done():
	}
}

// remove deletes the pod (Kubernetes, "Termination of Pods"): it is no endpoint any
// more, which spreads meanwhile; preStop, then SIGTERM, then, when the grace that
// began with preStop is over, SIGKILL, but two seconds are always granted.
func (p *pod) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), p.grace)
	defer cancel()
	var spreading sync.WaitGroup
	spreading.Go(func() { p.leaves(p.w.t.Context()) })
	defer spreading.Wait()
	if hook := p.c.Lifecycle.PreStop.Exec.Command; len(hook) > 0 {
		cmd := exec.CommandContext(ctx, hook[0], hook[1:]...)
		cmd.Env, cmd.Stdout, cmd.Stderr = p.w.environment(p.environment...), p.w.log, p.w.log
		cmd.WaitDelay = time.Second
		p.failed = cmd.Run()
	}
	p.signal(syscall.SIGTERM)
	end, _ := ctx.Deadline()
	p.killed = !p.within(max(time.Until(end), 2*time.Second))
	p.kill() // the container ends with its first process
	<-p.ended
}

func TestReferencesAreExpandedWhereTheyAreSet(t *testing.T) {
	p := &pod{environment: slices.Sorted(maps.Keys(map[string]bool{"A=1": true, "B=": true}))}
	require.Equal(t, []string{"1-", "$(C)", "$A"}, p.expand([]string{"$(A)-$(B)", "$(C)", "$A"}))
}
