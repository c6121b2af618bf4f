package e2e

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localalb"
	"github.com/detourhq/detour/internal/locallambda"
	"github.com/detourhq/detour/internal/redistest"
	"github.com/detourhq/detour/pkg/cluster"
)

// patience bounds every wait for what takes milliseconds on an idle machine.
const patience = 30 * time.Second

// clusterName is the cluster that every world's registry holds.
const clusterName = "e2e"

// world is a deployment: a registry, the redirect function, and a load balancer
// whose rules would lead to the group blue but send everything to the function,
// as they do while blue is paused. Under /single/ the target group is one without
// multi-value headers.
type world struct {
	redis    *redistest.Server
	url      string // of the registry
	registry *cluster.Registry
	function *locallambda.Host
	alb      *localalb.LoadBalancer
	records  *records // of the load balancer
	log      *journal // of the function
}

// newWorld makes a world of so many copies of the function. In env stands what
// is configured differently.
func newWorld(t *testing.T, copies int, env map[string]string) *world {
	t.Helper()
	redis := redistest.Start(t)
	return newWorldOn(t, redis, redis.URL, copies, env)
}

// newWorldOn is newWorld with a registry on redis, which url leads to.
func newWorldOn(t *testing.T, redis *redistest.Server, url string, copies int, env map[string]string) *world {
	t.Helper()
	w := &world{redis: redis, url: url, records: &records{}, log: &journal{}}
	w.registry = openRegistry(t, url)
	w.function = w.host(t, binary(t), copies, env)

	var err error
	w.alb, err = localalb.New(localalb.Config{OnRequest: w.records.add})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.alb.Close() })
	require.NoError(t, w.alb.AddHTTPGroup("blue", localalb.HTTPGroup{}))
	w.route(t, "/*", 100, "detour", localalb.LambdaGroup{Function: w, MultiValueHeaders: true})
	w.route(t, "/single/*", 1, "detour-single", localalb.LambdaGroup{Function: w})
	require.NoError(t, w.alb.Start(t.Context()))
	return w
}

// host returns a host of a function on w's registry.
func (w *world) host(t *testing.T, program string, copies int, env map[string]string) *locallambda.Host {
	t.Helper()
	h, err := locallambda.New(locallambda.Config{
		Binary: program, Env: w.env(env), Copies: copies, WaitForCopy: true, Timeout: patience, Log: w.log,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		h.Close()
		if t.Failed() {
			t.Logf("the function's log:\n%s", w.log.excerpt())
		}
	})
	return h
}

// Invoke calls the function that w has by now.
func (w *world) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return w.function.Invoke(ctx, payload)
}

// env is the function's environment, and more. No node gets stale or fades in
// during a test, and a busy machine is no lost registry.
func (w *world) env(more map[string]string) map[string]string {
	env := map[string]string{
		"DETOUR_CLUSTER":       clusterName,
		"DETOUR_REDIS_URL":     w.url,
		"DETOUR_REDIS_TIMEOUT": "10s",
		"DETOUR_ORIGINS":       "detour=blue,detour-single=blue",
		"DETOUR_PULSE_TIMEOUT": "1h",
		"DETOUR_FADE_IN":       "0s",
	}
	maps.Copy(env, more)
	return env
}

// route sends what has the path pattern to a new target group g called name,
// beside blue with weight 0.
func (w *world) route(t *testing.T, pattern string, priority int, name string, g localalb.LambdaGroup) {
	t.Helper()
	require.NoError(t, w.alb.AddLambdaGroup(name, g))
	require.NoError(t, w.alb.SetRule(localalb.Rule{
		Name: name, Priority: priority,
		Conditions: []localalb.Condition{localalb.PathPattern(pattern)},
		Action:     localalb.Forward{"blue": 0, name: 100},
	}))
}

func openRegistry(t *testing.T, url string) *cluster.Registry {
	t.Helper()
	client, err := cluster.Dial(url, patience)
	require.NoError(t, err)
	registry, err := cluster.NewRegistry(client, clusterName)
	require.NoError(t, err)
	t.Cleanup(func() { _ = registry.Close() })
	return registry
}

// register makes a node known to the registry, and returns it as registered.
func (w *world) register(t *testing.T, id, group, endpoint string) cluster.Descriptor {
	t.Helper()
	d, _, err := w.registry.Register(t.Context(),
		cluster.Descriptor{ID: id, Group: group, Endpoint: endpoint, Weight: cluster.DefaultWeight},
		cluster.Report{Status: cluster.Active})
	require.NoError(t, err)
	return d
}

func (w *world) pause(t *testing.T, target cluster.Target) {
	t.Helper()
	_, err := w.registry.Pause(t.Context(), target, cluster.PauseRequest{Mode: cluster.Redirect})
	require.NoError(t, err)
}

// direct is a client that shows redirects instead of following them.
var direct = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 16},
	Timeout:       patience,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// get asks the load balancer for path and returns the answer, its body read.
func (w *world) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.alb.URL()+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := direct.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

// records keeps the load balancer's access log.
type records struct {
	mu  sync.Mutex
	all []localalb.Record
}

func (r *records) add(rec localalb.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec)
}

// of returns the records of the requests whose target begins with prefix.
func (r *records) of(prefix string) (found []localalb.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.all {
		if strings.HasPrefix(rec.URI, prefix) {
			found = append(found, rec)
		}
	}
	return found
}

// journal keeps what is written to it.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// excerpt returns the text with long lines cut off, for a failure's message.
func (j *journal) excerpt() string {
	const most = 500
	var text strings.Builder
	for line := range strings.Lines(j.String()) {
		if len(line) > most {
			line = line[:most] + "…\n"
		}
		text.WriteString(line)
	}
	return text.String()
}
