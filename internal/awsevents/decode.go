package awsevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// wrappings is how deep events are looked for: in an SQS record, in an SNS
// notification.
const wrappings = 3

// Decode reads a payload: an event of EventBridge, a notification of an Auto
// Scaling group, the call of a CodeDeploy or ECS hook, or a batch of SQS or SNS
// with such in it. ok is false if it is none of these. An error names what is
// malformed; of a batch, the events that are not come back beside it.
func Decode(payload []byte) (events []Event, ok bool, err error) {
	return decode(payload, wrappings)
}

func decode(payload []byte, depth int) ([]Event, bool, error) {
	var top map[string]json.RawMessage
	if json.Unmarshal(payload, &top) != nil {
		return nil, false, nil
	}
	has := func(name string) bool { _, ok := top[name]; return ok }
	var read func([]byte) (Event, error)
	switch {
	case has("detail-type"):
		read = readEnvelope
	case has("LifecycleEventHookExecutionId"):
		read = readHook
	case has("lifecycleStage"):
		read = readStage
	case has("LifecycleTransition"), has("Event") && has("AutoScalingGroupName"):
		read = readNotification
	case has("Records") && depth > 0:
		return decodeBatch(top["Records"], depth-1)
	case has("Message") && depth > 0:
		return decodeText(top["Message"], depth-1)
	default:
		return nil, false, nil
	}
	e, err := read(payload)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return nil, true, fmt.Errorf("decode event: %w", err)
	}
	return []Event{e}, true, nil
}

// decodeText reads a JSON string that holds JSON.
func decodeText(quoted json.RawMessage, depth int) ([]Event, bool, error) {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil, false, nil
	}
	return decode([]byte(text), depth)
}

// decodeBatch reads the records of SQS (body) and SNS (Sns.Message). It is none
// of ours if no record is one of these.
func decodeBatch(raw json.RawMessage, depth int) (events []Event, ok bool, err error) {
	var records []struct {
		Body *json.RawMessage `json:"body"`
		SNS  struct {
			Message *json.RawMessage
		} `json:"Sns"`
	}
	if json.Unmarshal(raw, &records) != nil {
		return nil, false, nil
	}
	var faults []error
	for i, r := range records {
		text := r.Body
		if text == nil {
			text = r.SNS.Message
		}
		if text == nil {
			faults = append(faults, fmt.Errorf("decode record %d: it has neither body nor Sns.Message", i))
			continue
		}
		found, is, err := decodeText(*text, depth)
		ok = true
		if err == nil && !is {
			err = errors.New("it holds no event of a kind that is known")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("decode record %d: %w", i, err))
		}
		events = append(events, found...)
	}
	if !ok {
		return nil, false, nil
	}
	return events, true, errors.Join(faults...)
}

// longest is the most that a name or an id may have: an ARN has at most 2048
// characters (AWS, Resource Groups Tagging API, ResourceARN).
const longest = 2048

// check returns what e lacks, or has out of form.
func (e *Event) check() error {
	fields := map[string]string{
		"id": e.ID, "instance": e.Instance, "task": e.Task, "source": e.Source, "hook": e.Hook, "token": e.Token,
		"deployment": e.Deployment, "execution": e.Execution, "state": e.State,
	}
	for name, text := range fields {
		if len(text) > longest || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }) {
			return fmt.Errorf("%s %.40q is longer than %d or has a character that no name has", name, text, longest)
		}
	}
	for _, name := range required[e.Kind] {
		if fields[name] == "" {
			return fmt.Errorf("event of kind %s names no %s", e.Kind, name)
		}
	}
	if known, ok := ranks[e.Kind]; ok {
		if _, ok := known[e.State]; !ok {
			return fmt.Errorf("state %.40q of kind %s is none that is known", e.State, e.Kind)
		}
	}
	if y := e.Time.Year(); y < 1 || y > 9999 {
		return fmt.Errorf("time %s cannot be stored", e.Time.Format(time.RFC3339))
	}
	return nil
}

// required are the fields without which an event says nothing.
var required = map[Kind][]string{
	Terminate:          {"instance", "source", "hook"},
	Launch:             {"instance", "source", "hook"},
	Spot:               {"instance"},
	Rebalance:          {"instance"},
	State:              {"instance", "state"},
	Task:               {"task", "state"},
	ServiceDeployment:  {"source", "deployment", "state"},
	Deployment:         {"source", "deployment", "state"},
	InstanceDeployment: {"instance", "deployment", "state"},
	Hook:               {"deployment", "execution"},
	Stage:              {"source", "deployment", "state"},
}
