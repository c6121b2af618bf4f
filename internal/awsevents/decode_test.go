package awsevents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	taskARN       = "arn:aws:ecs:eu-central-1:123456789012:task/shop/0123456789abcdef0123456789abcdef"
	deploymentARN = "arn:aws:ecs:eu-central-1:123456789012:service-deployment/shop/web/TFX5sH9q9XDboDTOv0rIt"
	token         = "87654321-4321-4321-8321-210987654321"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	return text
}

// load returns the one event of a file.
func load(t testing.TB, name string) Event {
	t.Helper()
	events, ok, err := Decode(file(t, name))
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, events, 1)
	return events[0]
}

func at(clock string) time.Time {
	parsed, err := time.Parse(time.RFC3339, "2026-03-01T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return parsed
}

func id(last string) string { return "11111111-0000-4000-8000-00000000000" + last }

func TestEveryShapeIsRead(t *testing.T) {
	spot := Event{ID: id("3"), Kind: Spot, Time: at("12:01:00"), Instance: "i-0aaaaaaaaaaaaaaa2", State: "terminate"}
	terminate := Event{Kind: Terminate, Time: at("12:00:00"), Instance: "i-0aaaaaaaaaaaaaaa1", Source: "asg:web", Hook: "drain", Token: token}
	fromBridge := terminate
	fromBridge.ID = id("1")
	task := Event{ID: id("9"), Kind: Task, Time: at("12:00:20"), Task: taskARN, Addresses: []string{"192.0.2.21"}, Source: "ecs:shop/web", Version: 5, State: "STOPPED"}
	instance := Event{
		ID: id("f"), Kind: InstanceDeployment, Time: at("12:01:40"), Instance: "i-0aaaaaaaaaaaaaaa6",
		Source: "codedeploy:shop/canary", Deployment: "d-ABCDEF123", State: "FAILURE",
	}
	rows := map[string][]Event{
		"terminate":                   {fromBridge},
		"notification":                {terminate},
		"notification-test":           {{Kind: Test, Time: at("12:00:00").Add(123 * time.Millisecond)}},
		"sns":                         {terminate},
		"sqs":                         {spot, terminate},
		"launch":                      {{ID: id("2"), Kind: Launch, Time: at("12:05:00"), Instance: "i-0aaaaaaaaaaaaaaa2", Source: "asg:web", Hook: "ready", Token: launchToken}},
		"spot":                        {spot},
		"spot-hibernate":              {{ID: id("4"), Kind: Spot, Time: at("12:01:30"), Instance: "i-0aaaaaaaaaaaaaaa3", State: "hibernate"}},
		"rebalance":                   {{ID: id("5"), Kind: Rebalance, Time: at("12:00:30"), Instance: "i-0aaaaaaaaaaaaaaa4"}},
		"state-stopping":              {{ID: id("6"), Kind: State, Time: at("12:02:00"), Instance: "i-0aaaaaaaaaaaaaaa5", State: "stopping"}},
		"state-running":               {{ID: id("7"), Kind: State, Time: at("12:03:00"), Instance: "i-0aaaaaaaaaaaaaaa5", State: "running"}},
		"task-running":                {{ID: id("8"), Kind: Task, Time: at("12:00:10"), Task: taskARN, Addresses: []string{"192.0.2.21"}, Source: "ecs:shop/web", Version: 3, State: "RUNNING"}},
		"task-stopped":                {task},
		"ecs-deployment-started":      {{ID: id("a"), Kind: ServiceDeployment, Time: at("12:00:00"), Source: "ecs:shop/web", Deployment: "ecs-svc/123", State: "SERVICE_DEPLOYMENT_IN_PROGRESS"}},
		"ecs-deployment-completed":    {{ID: id("b"), Kind: ServiceDeployment, Time: at("12:04:00"), Source: "ecs:shop/web", Deployment: "ecs-svc/123", State: "SERVICE_DEPLOYMENT_COMPLETED"}},
		"codedeploy-start":            {{ID: id("c"), Kind: Deployment, Time: at("12:00:00"), Source: "codedeploy:shop/canary", Deployment: "d-ABCDEF123", State: "START"}},
		"codedeploy-success":          {{ID: id("d"), Kind: Deployment, Time: at("12:06:00"), Source: "codedeploy:shop/canary", Deployment: "d-ABCDEF123", State: "SUCCESS"}},
		"codedeploy-instance-start":   {{ID: id("e"), Kind: InstanceDeployment, Time: at("12:00:40"), Instance: "i-0aaaaaaaaaaaaaaa6", Source: "codedeploy:shop/canary", Deployment: "d-ABCDEF123", State: "START"}},
		"codedeploy-instance-failure": {instance},
		"codedeploy-hook":             {{Kind: Hook, Deployment: "d-ABCDEF123", Execution: "eyJlbmNyeXB0ZWREYXRhIjoiMDEyMyJ9"}},
		"ecs-hook":                    {{Kind: Stage, Source: "ecs:shop/web", Deployment: deploymentARN, State: "POST_SCALE_UP"}},
	}
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(rows), "every file has its row")
	for name, want := range rows {
		t.Run(name, func(t *testing.T) {
			events, ok, err := Decode(file(t, name))
			require.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, want, events)
		})
	}
}

func TestWhatIsNoEventIsNone(t *testing.T) {
	for _, payload := range []string{
		``, `null`, `5`, `[]`, `"x"`, `{}`, `{`, `{"command":"tick"}`, `{"Message":"hello"}`, `{"Message":5}`, `{"Message":"{}"}`,
		`{"Records":5}`, `{"Records":[]}`, `{"Records":[{"s3":{}}]}`, `{"Event":"s3:TestEvent"}`,
	} {
		events, ok, err := Decode([]byte(payload))
		assert.NoError(t, err, payload)
		assert.False(t, ok, payload)
		assert.Empty(t, events, payload)
	}
}

func TestAMalformedEventIsToldAndDoesNothing(t *testing.T) {
	change := func(name, old, by string) string {
		text := string(file(t, name))
		require.Contains(t, text, old)
		return strings.ReplaceAll(text, old, by)
	}
	for _, c := range []struct{ name, payload, says string }{
		{"a detail-type that is not acted on", change("spot", "EC2 Spot Instance Interruption Warning", "EC2 Something Else"), "EC2 Something Else"},
		{"a detail-type that is no text", `{"detail-type":5}`, "detail-type"},
		{"no detail", `{"detail-type":"ECS Task State Change"}`, "detail of ECS Task State Change"},
		{"a detail of null", `{"detail-type":"ECS Task State Change","detail":null}`, "names no"},
		{"a detail of another type", `{"detail-type":"ECS Task State Change","detail":[]}`, "detail"},
		{"a time that is none", change("spot", "2026-03-01T12:01:00Z", "yesterday"), "time"},
		{"no instance", change("terminate", "EC2InstanceId", "Instance"), "instance"},
		{"no Auto Scaling group", change("terminate", `"AutoScalingGroupName"`, `"Group"`), "source"},
		{"no hook", change("terminate", "LifecycleHookName", "Hook"), "hook"},
		{"a transition that is none", change("notification", "EC2_INSTANCE_TERMINATING", "EC2_INSTANCE_DANCING"), "EC2_INSTANCE_DANCING"},
		{"no state", change("state-stopping", "stopping", ""), "state"},
		{"a state that is none", change("state-stopping", "stopping", "dancing"), "dancing"},
		{"no task", change("task-stopped", "taskArn", "task"), "task"},
		{"a version that is none", change("task-stopped", `"version": 5`, `"version": "five"`), "version"},
		{"no service", change("ecs-deployment-started", `"arn:aws:ecs:eu-central-1:123456789012:service/shop/web"`, ``), "0 resources"},
		{"a service without a cluster", change("ecs-deployment-started", `service/shop/web`, `service/web`), "cluster"},
		{"a deployment event of no name", change("ecs-deployment-started", "SERVICE_DEPLOYMENT_IN_PROGRESS", "SERVICE_DANCE"), "SERVICE_DANCE"},
		{"no deployment group", change("codedeploy-start", "deploymentGroup", "group"), "source"},
		{"a deployment to no instance", change("codedeploy-instance-start", "instanceId", "id"), "instance"},
		{"a hook without its deployment", `{"LifecycleEventHookExecutionId":"x"}`, "deployment"},
		{"a hook with another's type", `{"LifecycleEventHookExecutionId":5}`, "LifecycleEventHookExecutionId"},
		{"a stage of nothing", `{"lifecycleStage":"POST_SCALE_UP"}`, "cluster"},
		{"a control character", change("spot", "i-0aaaaaaaaaaaaaaa2\", \"instance-action", `i-\u0000", "instance-action`), "instance"},
		{"a name without end", change("spot", "i-0aaaaaaaaaaaaaaa2\", \"instance-action", strings.Repeat("x", longest+1)+`", "instance-action`), "instance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, ok, err := Decode([]byte(c.payload))
			require.Error(t, err)
			assert.True(t, ok, "it is one of ours all the same")
			assert.Empty(t, events)
			assert.ErrorContains(t, err, c.says)
			assert.Less(t, len(err.Error()), 300)
		})
	}
}

func TestOfABatchWhatIsReadableIsRead(t *testing.T) {
	events, ok, err := Decode([]byte(`{"Records":[{"body":"{}"},{"other":1},` + strings.TrimPrefix(string(file(t, "sqs")), `{
  "Records": [`)))
	assert.True(t, ok)
	assert.ErrorContains(t, err, "record 0: it holds no event")
	assert.ErrorContains(t, err, "record 1: it has neither")
	assert.Len(t, events, 2)
}

func TestUnknownFieldsPass(t *testing.T) {
	text := strings.Replace(string(file(t, "task-running")), `"version": 3`, `"version": 3, "healthStatus": null, "new": {"a": [1]}`, 1)
	events, _, err := Decode([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, load(t, "task-running"), events[0])
}

// Of two words on one matter one is the later, whichever came first.
func TestAllStatesAreInAnOrder(t *testing.T) {
	for kind, states := range ranks {
		for a := range states {
			for b := range states {
				x, y := Event{Kind: kind, State: a}, Event{Kind: kind, State: b}
				assert.Equal(t, a != b, x.after(&y) != y.after(&x), "%s: %s and %s", kind, a, b)
			}
		}
	}
	v := func(version int64, state string) *Event { return &Event{Kind: Task, Version: version, State: state} }
	assert.True(t, v(2, "RUNNING").after(v(1, stopped)))
	assert.False(t, v(1, stopped).after(v(2, "RUNNING")), "a lower version is ignored")
	assert.True(t, v(2, stopped).after(v(2, "RUNNING")))
	assert.False(t, v(2, stopped).after(v(2, stopped)), "a duplicate says nothing new")
}

// Whatever comes, it is none of ours, or told, or an event that can be kept as
// work and read again as the same.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"Message":"{\"Message\":\"{\\\"lifecycleStage\\\":1}\"}"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		events, ok, err := Decode(payload)
		if !ok && (err != nil || len(events) > 0) || ok && err == nil && len(events) == 0 {
			t.Fatalf("%q gives %v, %v, %v", payload, events, ok, err)
		}
		for _, e := range events {
			w := work{Event: e, Since: 1}
			w.merge(e, 2)
			body, err := w.encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeWork(body)
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			again.Event.ID = e.ID
			if again.Event.name() != e.name() || again.Event.after(&w.Event) || w.Event.after(&again.Event) {
				t.Fatalf("%s is not %v", body, e)
			}
		}
	})
}
