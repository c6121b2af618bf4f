package awsevents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// envelope is EventBridge's (EventBridge User Guide, "Event structure reference").
type envelope struct {
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Time       time.Time       `json:"time"`
	Resources  []string        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

// readers are by detail-type. They find the kind given already.
var readers = map[string]struct {
	kind Kind
	read func(envelope, *Event) error
}{
	"EC2 Instance-terminate Lifecycle Action":         {Terminate, readLifecycle},
	"EC2 Instance-launch Lifecycle Action":            {Launch, readLifecycle},
	"EC2 Spot Instance Interruption Warning":          {Spot, readInstance},
	"EC2 Instance Rebalance Recommendation":           {Rebalance, readInstance},
	"EC2 Instance State-change Notification":          {State, readInstance},
	"ECS Task State Change":                           {Task, readTask},
	"ECS Deployment State Change":                     {ServiceDeployment, readServiceDeployment},
	"CodeDeploy Deployment State-change Notification": {Deployment, readDeployment},
	"CodeDeploy Instance State-change Notification":   {InstanceDeployment, readDeployment},
}

func readEnvelope(payload []byte) (Event, error) {
	var v envelope
	if err := json.Unmarshal(payload, &v); err != nil {
		return Event{}, err
	}
	r, ok := readers[v.DetailType]
	if !ok {
		return Event{}, fmt.Errorf("detail-type %.80q is none that is acted on", v.DetailType)
	}
	e := Event{ID: v.ID, Kind: r.kind, Time: v.Time.UTC()}
	if err := r.read(v, &e); err != nil {
		return Event{}, fmt.Errorf("detail of %s: %w", v.DetailType, err)
	}
	return e, nil
}

// lifecycle is what an Auto Scaling group says, in EventBridge's detail as in its
// own notifications (EC2 Auto Scaling User Guide, "Lifecycle hooks").
type lifecycle struct {
	Event                string
	LifecycleTransition  string
	AutoScalingGroupName string
	LifecycleHookName    string
	LifecycleActionToken string
	EC2InstanceID        string `json:"EC2InstanceId"`
	Time                 time.Time
}

const testNotification = "autoscaling:TEST_NOTIFICATION"

func (l *lifecycle) fill(e *Event) {
	if l.Event == testNotification || l.LifecycleTransition == testNotification {
		e.Kind = Test
		return
	}
	e.Instance, e.Hook, e.Token = l.EC2InstanceID, l.LifecycleHookName, l.LifecycleActionToken
	if l.AutoScalingGroupName != "" {
		e.Source = "asg:" + l.AutoScalingGroupName
	}
}

func readLifecycle(v envelope, e *Event) error {
	var l lifecycle
	if err := json.Unmarshal(v.Detail, &l); err != nil {
		return err
	}
	l.fill(e)
	return nil
}

// readNotification reads what comes through SQS or SNS without EventBridge. Its
// RequestId is that of the transition, so that it can be no event's id.
func readNotification(payload []byte) (Event, error) {
	var l lifecycle
	if err := json.Unmarshal(payload, &l); err != nil {
		return Event{}, err
	}
	e := Event{Time: l.Time.UTC()}
	switch l.LifecycleTransition {
	case "autoscaling:EC2_INSTANCE_TERMINATING":
		e.Kind = Terminate
	case "autoscaling:EC2_INSTANCE_LAUNCHING":
		e.Kind = Launch
	}
	l.fill(&e)
	if e.Kind == "" {
		return e, fmt.Errorf("transition %.80q is none that is acted on", cmp.Or(l.LifecycleTransition, l.Event))
	}
	return e, nil
}

// readInstance takes the id from the detail: the ARN of a Spot event has no
// account, and the zone in the Region's place.
func readInstance(v envelope, e *Event) error {
	var d struct {
		Instance string `json:"instance-id"`
		Action   string `json:"instance-action"`
		State    string `json:"state"`
	}
	if err := json.Unmarshal(v.Detail, &d); err != nil {
		return err
	}
	e.Instance, e.State = d.Instance, d.State
	if e.Kind == Spot {
		e.State = d.Action
	}
	return nil
}

// taskDetail is a part of what ECS says of a task. A task has its addresses in its
// containers, with awsvpc in an attachment too; while it starts, nowhere.
type taskDetail struct {
	TaskARN       string `json:"taskArn"`
	ClusterARN    string `json:"clusterArn"`
	Group         string `json:"group"`
	DesiredStatus string `json:"desiredStatus"`
	Version       int64  `json:"version"`
	Containers    []struct {
		Interfaces []struct {
			Address string `json:"privateIpv4Address"`
		} `json:"networkInterfaces"`
	} `json:"containers"`
	Attachments []struct {
		Details []struct{ Name, Value string } `json:"details"`
	} `json:"attachments"`
}

func readTask(v envelope, e *Event) error {
	var d taskDetail
	if err := json.Unmarshal(v.Detail, &d); err != nil {
		return err
	}
	e.Task, e.State, e.Version = d.TaskARN, d.DesiredStatus, d.Version
	if service, ok := strings.CutPrefix(d.Group, "service:"); ok {
		e.Source = "ecs:" + afterSlash(d.ClusterARN) + "/" + service
	}
	for _, c := range d.Containers {
		for _, i := range c.Interfaces {
			e.addAddress(i.Address)
		}
	}
	for _, a := range d.Attachments {
		for _, p := range a.Details {
			if p.Name == "privateIPv4Address" {
				e.addAddress(p.Value)
			}
		}
	}
	slices.Sort(e.Addresses)
	e.Addresses = slices.Compact(e.Addresses)
	return nil
}

// addAddress leaves out what is no address: a task that is starting has none.
func (e *Event) addAddress(text string) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		e.Addresses = append(e.Addresses, a.String())
	}
}

func readServiceDeployment(v envelope, e *Event) (err error) {
	var d struct {
		EventName    string `json:"eventName"`
		DeploymentID string `json:"deploymentId"`
	}
	if err := json.Unmarshal(v.Detail, &d); err != nil {
		return err
	}
	if len(v.Resources) != 1 {
		return fmt.Errorf("%d resources, not the one service", len(v.Resources))
	}
	e.State, e.Deployment = d.EventName, d.DeploymentID
	e.Source, err = sourceOf(v.Resources[0])
	return err
}

func readDeployment(v envelope, e *Event) error {
	var d struct {
		DeploymentID    string `json:"deploymentId"`
		Application     string `json:"application"`
		DeploymentGroup string `json:"deploymentGroup"`
		InstanceID      string `json:"instanceId"`
		State           string `json:"state"`
	}
	if err := json.Unmarshal(v.Detail, &d); err != nil {
		return err
	}
	e.Deployment, e.State, e.Instance = d.DeploymentID, d.State, afterSlash(d.InstanceID)
	if d.Application != "" && d.DeploymentGroup != "" {
		e.Source = "codedeploy:" + d.Application + "/" + d.DeploymentGroup
	}
	return nil
}

// readHook reads the call of a function that an AppSpec file names (CodeDeploy
// User Guide, "AppSpec 'hooks' section").
func readHook(payload []byte) (Event, error) {
	var d struct {
		DeploymentID string `json:"DeploymentId"`
		Execution    string `json:"LifecycleEventHookExecutionId"`
	}
	err := json.Unmarshal(payload, &d)
	return Event{Kind: Hook, Deployment: d.DeploymentID, Execution: d.Execution}, err
}

// readStage reads the call of a deployment's lifecycle hook (ECS Developer Guide,
// "Lifecycle hooks for Amazon ECS service deployments"). Its resource is the
// deployment; the service stands in the details.
func readStage(payload []byte) (Event, error) {
	var d struct {
		Stage    string `json:"lifecycleStage"`
		Resource string `json:"resourceArn"`
		Service  string `json:"serviceArn"`
		Details  struct {
			Service string `json:"serviceArn"`
		} `json:"executionDetails"`
	}
	if err := json.Unmarshal(payload, &d); err != nil {
		return Event{}, err
	}
	source, err := sourceOf(cmp.Or(d.Details.Service, d.Service, d.Resource))
	return Event{Kind: Stage, Source: source, State: d.Stage, Deployment: cmp.Or(d.Resource, d.Details.Service, d.Service)}, err
}

// sourceOf returns the source ecs:CLUSTER/SERVICE of a service's or a service
// deployment's ARN, arn:aws:ecs:REGION:ACCOUNT:service/CLUSTER/SERVICE[/…].
func sourceOf(arn string) (string, error) {
	parts := strings.Split(arn, "/")
	if len(parts) < 3 || parts[1] == "" || parts[2] == "" {
		return "", errors.New("no service ARN that names its cluster: " + arn[:min(len(arn), 80)])
	}
	return "ecs:" + parts[1] + "/" + parts[2], nil
}

func afterSlash(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
