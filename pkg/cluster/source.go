package cluster

import "strings"

// Kinds of sources, as [ParseSource] tells them.
const (
	ASG        = "asg"
	ECS        = "ecs"
	CodeDeploy = "codedeploy"
)

// ParseSource splits one of a group's sources: asg:NAME, ecs:CLUSTER/SERVICE or
// codedeploy:APP/GROUP. owner is the cluster or the application, empty for an Auto
// Scaling group; ok is false if s has none of these forms.
func ParseSource(s string) (kind, owner, name string, ok bool) {
	kind, name, _ = strings.Cut(s, ":")
	switch kind {
	case ASG:
		return kind, "", name, name != ""
	case ECS, CodeDeploy:
		owner, name, _ = strings.Cut(name, "/")
		return kind, owner, name, owner != "" && name != ""
	}
	return "", "", "", false
}
