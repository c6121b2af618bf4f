//go:build unix

package recipes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// taskDefinition is what the stand-in reads of a task definition (Amazon ECS API
// Reference, RegisterTaskDefinition).
type taskDefinition struct {
	Family, NetworkMode, CPU, Memory string
	ExecutionRoleArn, TaskRoleArn    string
	RequiresCompatibilities          []string
	ContainerDefinitions             []container
}

type container struct {
	Name, Image         string
	Essential           bool
	EntryPoint, Command []string
	StopTimeout         int // seconds
	PortMappings        []struct {
		ContainerPort int
		Protocol      string
	}
	Environment []struct{ Name, Value string }
	Secrets     []struct{ Name, ValueFrom string }
	HealthCheck struct {
		Command                                 []string
		Interval, Timeout, Retries, StartPeriod int
	}
}

const (
	defaultStop  = 30  // seconds, where a container says nothing
	longestStop  = 120 // on Fargate
	registryName = "arn:aws:ssm:us-east-1:123456789012:parameter/detour/redis-url"
)

// parse reads a task definition with one container, and refuses what ECS would.
func parse(text string) (container, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var d taskDefinition
	if err := decoder.Decode(&d); err != nil {
		return container{}, err
	}
	if len(d.ContainerDefinitions) != 1 || !d.ContainerDefinitions[0].Essential || d.NetworkMode != "awsvpc" {
		return container{}, errors.New("not one essential container with a network of its own")
	}
	c := d.ContainerDefinitions[0]
	if c.StopTimeout > longestStop {
		return container{}, fmt.Errorf("stopTimeout %d is more than Fargate takes", c.StopTimeout)
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = defaultStop
	}
	return c, nil
}

// task is a running task with one container.
type task struct {
	*process
	w       *world
	c       container
	address string
	killed  bool
}

// runTask starts the task of a recipe, as a service does: it is registered with the
// target group, and waited for until that is well. Name stands in for the host name
// that a task has of its own.
func (w *world) runTask(name string, edits ...edit) *task {
	w.t.Helper()
	k := &task{w: w, address: w.address()}
	install(w.t, filepath.Join(w.root, name), "1")
	var err error
	k.c, err = parse(recipe(w.t, "ecs/task-definition.json", append(k.fill(name), edits...)...))
	require.NoError(w.t, err)
	environment := w.environment("ECS_CONTAINER_METADATA_URI_V4=" + k.metadata(name))
	for _, e := range k.c.Environment {
		environment = append(environment, e.Name+"="+e.Value)
	}
	for _, s := range k.c.Secrets {
		require.Equal(w.t, registryName, s.ValueFrom)
		environment = append(environment, s.Name+"="+w.redis.URL)
	}
	k.process, err = launch(w.t, w.log, append(k.c.EntryPoint, k.c.Command...), environment)
	require.NoError(w.t, err)
	w.until("the container is healthy", func() bool { return k.check(environment) })
	require.NoError(w.t, w.alb.Register("blue", k.address))
	w.healthy(k.address)
	return k
}

// fill fills in what is made up in the recipe, and what is the task's own: loopback
// has one network for all of them.
func (k *task) fill(name string) []edit {
	ip, port, _ := net.SplitHostPort(k.address)
	return []edit{
		{`"--group", "blue"`, `"--id", "` + name + `", "--group", "blue"`},
		{"https://blue.example.com", "http://" + k.address},
		{`":8080"`, `"` + k.address + `"`},
		{"127.0.0.1", ip},
		{"8080", port},
		{"/tmp/gate.sock", filepath.Join(k.w.root, name+".sock")},
		{"/opt/app/run", filepath.Join(k.w.root, name, "run")},
	}
}

// metadata returns the address of the task metadata endpoint, version 4.
func (k *task) metadata(name string) string {
	ip, _, _ := net.SplitHostPort(k.address)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"TaskARN":"arn:aws:ecs:us-east-1:123456789012:task/shop/%s","Containers":[{"Networks":[{"NetworkMode":"awsvpc","IPv4Addresses":[%q]}]}]}`, name, ip)
	}))
	k.w.t.Cleanup(server.Close)
	return server.URL
}

// check runs the container's health check.
func (k *task) check(environment []string) bool {
	command := k.c.HealthCheck.Command
	if len(command) != 2 || command[0] != "CMD-SHELL" {
		k.w.t.Errorf("the stand-in does not know the health check %q", command)
		return true
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(k.w.t.Context(), "sh", "-c", command[1])
	cmd.Env, cmd.Stderr = environment, &said
	return cmd.Run() == nil
}

// stop stops the task, at worst: the load balancer is told at the same time as the
// container (aws/amazon-ecs-agent#2316), not before. After stopTimeout it is killed.
func (k *task) stop() {
	k.signal(syscall.SIGTERM)
	time.AfterFunc(lag, func() { _ = k.w.alb.Deregister("blue", k.address) })
	k.killed = !k.within(time.Duration(k.c.StopTimeout) * time.Second)
	k.kill() // and whatever it has started
	<-k.ended
}
