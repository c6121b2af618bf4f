package awsevents

import (
	"cmp"
	"time"
)

// Kind says what an event is about.
type Kind string

// The kinds. Each is one detail-type of EventBridge, but for the last three.
const (
	Terminate          Kind = "terminate"           // EC2 Instance-terminate Lifecycle Action
	Launch             Kind = "launch"              // EC2 Instance-launch Lifecycle Action
	Spot               Kind = "spot"                // EC2 Spot Instance Interruption Warning
	Rebalance          Kind = "rebalance"           // EC2 Instance Rebalance Recommendation
	State              Kind = "state"               // EC2 Instance State-change Notification
	Task               Kind = "task"                // ECS Task State Change
	ServiceDeployment  Kind = "ecs-deployment"      // ECS Deployment State Change
	Deployment         Kind = "codedeploy"          // CodeDeploy Deployment State-change Notification
	InstanceDeployment Kind = "codedeploy-instance" // CodeDeploy Instance State-change Notification
	Hook               Kind = "codedeploy-hook"     // a Lambda function named in an AppSpec file
	Stage              Kind = "ecs-hook"            // a lifecycle hook of an ECS deployment
	Test               Kind = "test"                // what an Auto Scaling group sends when a hook is made
)

// Event is what one event says, as far as it matters here. Fields that its kind
// does not have are zero.
type Event struct {
	ID   string    `json:"-"` // EventBridge's; empty where the form has none
	Kind Kind      `json:"kind"`
	Time time.Time `json:"time,omitzero"` // by AWS's clock; compared only with other events

	Instance   string   `json:"instance,omitempty"`   // EC2 id
	Task       string   `json:"task,omitempty"`       // ARN
	Addresses  []string `json:"addresses,omitempty"`  // private ones of the task, IPv4
	Source     string   `json:"source,omitempty"`     // as in a group's sources
	Hook       string   `json:"hook,omitempty"`       // name of the lifecycle hook
	Token      string   `json:"token,omitempty"`      // of the lifecycle action
	Deployment string   `json:"deployment,omitempty"` // its id, or ARN
	Execution  string   `json:"execution,omitempty"`  // id of the CodeDeploy hook's call
	Version    int64    `json:"version,omitempty"`    // of the task, rising

	// State is AWS's own word: an instance's state or action, a task's desired
	// status, a deployment's state, a stage.
	State string `json:"state,omitempty"`
}

// Words of AWS that decide something.
const (
	hibernate = "hibernate"
	stopped   = "STOPPED"
)

// ranks order the states that follow each other. From the second one on an
// instance is going, and a deployment is over.
var ranks = map[Kind]map[string]int{
	State: {"pending": 0, "running": 0, "stopping": 1, "stopped": 2, "shutting-down": 3, "terminated": 4},
	ServiceDeployment: {
		"SERVICE_DEPLOYMENT_IN_PROGRESS": 0, "SERVICE_DEPLOYMENT_COMPLETED": 1, "SERVICE_DEPLOYMENT_FAILED": 1,
	},
	Deployment:         {"START": 0, "READY": 0, "STOP": 1, "SUCCESS": 1, "FAILURE": 1},
	InstanceDeployment: {"START": 0, "READY": 0, "STOP": 1, "SUCCESS": 1, "FAILURE": 1},
}

func (e *Event) rank() int { return ranks[e.Kind][e.State] }

// asksForPause tells whether traffic should keep away while nothing else is known.
func (e *Event) asksForPause() bool {
	switch e.Kind {
	case Terminate, Spot, Rebalance:
		return true
	case State:
		return e.rank() > 0
	case Task:
		return e.State == stopped
	case ServiceDeployment, Deployment, InstanceDeployment:
		return e.rank() == 0
	}
	return false
}

// after tells whether e is a later word than o on the same matter. Of two at the
// same second the one that takes more away counts.
func (e *Event) after(o *Event) bool {
	switch e.Kind {
	case Task:
		return e.Version > o.Version || e.Version == o.Version && e.State == stopped && o.State != stopped
	case State:
		return e.Time.After(o.Time) || e.Time.Equal(o.Time) && e.outranks(o)
	case ServiceDeployment, Deployment, InstanceDeployment:
		return e.outranks(o)
	}
	return false
}

// outranks puts all states in an order, so that it does not matter which of two
// came first.
func (e *Event) outranks(o *Event) bool {
	return e.rank() > o.rank() || e.rank() == o.rank() && e.State < o.State
}

// ofGroup tells whether e is about a group as a whole.
func (e *Event) ofGroup() bool { return e.Kind == ServiceDeployment || e.Kind == Deployment }

// name is the work's that e belongs to.
func (e *Event) name() string {
	switch e.Kind {
	case Terminate, Launch:
		return join(e.Kind, e.Instance, cmp.Or(e.Token, e.Source+":"+e.Hook))
	case Spot, Rebalance:
		return join(e.Kind, e.Instance, cmp.Or(e.ID, e.Time.UTC().Format(time.RFC3339)))
	case State:
		return join(e.Kind, e.Instance)
	case Task:
		return join(e.Kind, e.Task)
	case ServiceDeployment:
		return join(e.Kind, e.Source, e.Deployment)
	case InstanceDeployment:
		return join(e.Kind, e.Deployment, e.Instance)
	case Hook:
		return join(e.Kind, e.Execution)
	case Stage:
		return join(e.Kind, e.Deployment, e.State)
	}
	return join(e.Kind, e.Deployment)
}

func join(kind Kind, parts ...string) string {
	name := string(kind)
	for _, p := range parts {
		name += ":" + p
	}
	return name
}
