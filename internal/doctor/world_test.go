package doctor

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	scalingtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/rules"
	"github.com/detourhq/detour/pkg/cluster"
)

const (
	now     = cluster.Millis(1_800_000_000_000)
	account = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:"
	front   = account + "listener-rule/app/web/1a/2b/3c"
	blueTG  = account + "targetgroup/blue/1"
	greenTG = account + "targetgroup/green/2"
	sinkTG  = account + "targetgroup/detour/3"
	web     = account + "loadbalancer/app/web/1a"
)

// wellFacts are those of a set-up in which nothing is to be found: two groups of
// two nodes, a rule that forwards to both, and an Auto Scaling group.
func wellFacts() *facts {
	f := &facts{
		config: Config{
			Cluster: "eu", TLS: true, PulseEvery: 5 * time.Second, PulseTimeout: 15 * time.Second, SweepEvery: 10 * time.Second, PruneAfter: 2 * time.Minute,
			AllowedHosts: []string{"app.example.com"}, TargetGroup: sinkTG,
		},
		snapshot: &cluster.Snapshot{
			Epoch: 7, Time: now, ReadAt: now.Time(), Pauses: make(map[cluster.Target]cluster.Pause),
			Groups: map[string]cluster.Group{
				"blue":  {ID: "blue", TargetGroup: blueTG, Rules: []string{front}, Fallbacks: []string{"green"}, Route: "b", Sources: []string{"asg:web"}},
				"green": {ID: "green", TargetGroup: greenTG, Rules: []string{front}},
			},
		},
		trip: time.Millisecond, notes: cluster.SweepNotes{At: now - 10_000},
		server:  cluster.Server{Engine: "valkey", Version: "7.2.4", Role: "master", Evicts: "noeviction"},
		memory:  map[string]rules.RuleMemory{},
		missing: make(map[part]string),
		outside: outside{
			rules: map[string]rules.Found{front: {Forward: rules.Forward{Weights: []rules.Weight{{TargetGroup: blueTG, Weight: 1}, {TargetGroup: greenTG, Weight: 1}}}}},
			targets: map[string]targetGroup{
				blueTG: nodesOf(blueTG), greenTG: nodesOf(greenTG),
				sinkTG: {
					TargetGroup: types.TargetGroup{TargetGroupArn: aws.String(sinkTG), TargetType: types.TargetTypeEnumLambda, LoadBalancerArns: []string{web}},
					attributes:  map[string]string{"lambda.multi_value_headers.enabled": "true"},
				},
			},
			scaling: map[string]scalingtypes.AutoScalingGroup{"web": {Tags: []scalingtypes.TagDescription{{Key: aws.String("detour:cluster"), Value: aws.String("eu")}}}},
			hooks:   map[string][]scalingtypes.LifecycleHook{"web": {hook(300, "CONTINUE")}},
		},
	}
	for _, id := range []string{"b1", "b2", "g1", "g2"} {
		group := map[byte]string{'b': "blue", 'g': "green"}[id[0]]
		f.snapshot.Nodes = append(f.snapshot.Nodes, cluster.Node{
			Descriptor: cluster.Descriptor{ID: id, Group: group, Endpoint: "https://" + id + ".example.com", PulseMS: 5000},
			Report:     cluster.Report{Status: cluster.Active}, Pulse: now, Figures: &cluster.Figures{},
		})
	}
	return f
}

func nodesOf(arn string) targetGroup {
	return targetGroup{TargetGroup: types.TargetGroup{
		TargetGroupArn: &arn, TargetType: types.TargetTypeEnumInstance, LoadBalancerArns: []string{web},
		HealthCheckEnabled: aws.Bool(true), HealthCheckPath: aws.String("/_health"),
	}}
}

func hook(seconds int32, result string) scalingtypes.LifecycleHook {
	return scalingtypes.LifecycleHook{
		LifecycleHookName: aws.String("detour"), LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_TERMINATING"),
		HeartbeatTimeout: &seconds, DefaultResult: &result,
	}
}

// change alters one group's record.
func (f *facts) change(id string, change func(g *cluster.Group)) {
	g := f.snapshot.Groups[id]
	change(&g)
	f.snapshot.Groups[id] = g
}

// row is one change of what is well, and what is found then: "SEVERITY CHECK ABOUT".
type row struct {
	name   string
	change func(f *facts)
	want   []string
}

func found(findings ...string) []string { return findings }

func inspect(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			f := wellFacts()
			r.change(f)
			var got []string
			for _, finding := range examine(f).Findings {
				got = append(got, fmt.Sprintf("%s %s %s", finding.Severity, finding.Check, finding.About))
				assert.NotEmpty(t, finding.What)
				assert.NotEmpty(t, finding.Do)
			}
			assert.Equal(t, r.want, got)
		})
	}
}

func TestWhatIsWellHasNoFinding(t *testing.T) {
	report := examine(wellFacts())
	assert.Empty(t, report.Findings)
	assert.Empty(t, report.Skipped)
	assert.Equal(t, len(checks), report.Checked)
}
