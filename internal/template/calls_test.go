package template

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callers are the packages through which the heartbeat function calls AWS.
var callers = []string{"functions/heartbeat", "internal/awsapi", "internal/awsevents", "internal/doctor", "internal/rules"}

// prefixes of actions and endpoints, by the name that the code has for a service.
var prefixes = map[string]string{
	"elb": "elasticloadbalancing", "autoscaling": "autoscaling", "codedeploy": "codedeploy", "ecs": "ecs",
}

var (
	input    = regexp.MustCompile(`\b(\w+)\.([A-Z]\w+)Input\b`)
	inColumn = regexp.MustCompile("`(?:([a-z]+):)?([A-Z]\\w+)`")
)

// calls are the actions that the heartbeat function's code calls.
func calls(t *testing.T) (actions []string) {
	t.Helper()
	for _, dir := range callers {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, dir)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range input.FindAllStringSubmatch(string(text), -1) {
				require.Contains(t, prefixes, m[1], "%s calls a service that is not known here", file)
				actions = append(actions, prefixes[m[1]]+":"+m[2])
			}
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// toldInDeploy are the actions of the table under Permissions, of services that
// prefixes knows. A name without a service is of the one before.
func toldInDeploy(text string) (actions []string) {
	_, text, _ = strings.Cut(text, "## Permissions\n")
	text, _, _ = strings.Cut(text, "\n## ")
	known := slices.Collect(maps.Values(prefixes))
	for line := range strings.Lines(text) {
		columns := strings.Split(line, "|")
		if len(columns) < 4 {
			continue
		}
		service := ""
		for _, m := range inColumn.FindAllStringSubmatch(columns[2], -1) {
			if m[1] != "" {
				service = m[1]
			}
			if slices.Contains(known, service) {
				actions = append(actions, service+":"+m[2])
			}
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// What the code calls, what IAM allows, where the network leads to and what the
// documentation says are one.
func TestTheHeartbeatMayDoWhatItDoes(t *testing.T) {
	files := read(t)
	var r reader
	h, err := r.build(files)
	require.NoError(t, err)
	want := calls(t)
	assert.Contains(t, want, "elasticloadbalancing:ModifyListener")

	var granted, services, endpoints []string
	for _, g := range grants(h.with("AllowDefaultRule", "true").value(h.property(heartbeatFunction, "Policies"))) {
		action, _, _ := strings.Cut(g, " on ")
		if service, _, _ := strings.Cut(action, ":"); service != "elasticache" {
			granted = append(granted, action)
		}
	}
	slices.Sort(granted)
	assert.Equal(t, want, slices.Compact(granted), "allowed by template.yaml")
	assert.Equal(t, want, toldInDeploy(files["docs/deploy.md"]), "told in docs/deploy.md")

	for _, action := range want {
		service, _, _ := strings.Cut(action, ":")
		services = append(services, "com.amazonaws.eu-west-1."+service)
	}
	for _, name := range h.of("AWS::EC2::VPCEndpoint") {
		endpoints = append(endpoints, h.with().value(h.property(name, "ServiceName")).(string))
	}
	slices.Sort(endpoints)
	assert.Equal(t, slices.Compact(services), endpoints, "interface endpoints")
}
