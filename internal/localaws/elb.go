package localaws

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"github.com/detourhq/detour/internal/localalb"
)

// ELB is Elastic Load Balancing (v2). Its methods are those of the SDK's client,
// and safe for concurrent use; its fields are not to be touched beside them.
type ELB struct {
	Rules  map[string]types.Rule                    // by ARN
	Tags   map[string]map[string]string             // of rules
	Sticky map[string]bool                          // target groups with target stickiness on
	Health map[string][]types.TargetHealthStateEnum // one healthy target where none is named

	Lag    int                          // reads of a rule that do not show its last change
	Before func(verb, arn string) error // may refuse a call; nil refuses none
	Tokens func() bool                  // whether the bucket has one more for a write; nil: always
	Writes []string                     // calls that change something, "VERB ARN"
	Calls  int                          // all calls

	mu       sync.Mutex
	shown    map[string]types.Rule // what reads show while the lag lasts
	lags     map[string]int
	balancer *localalb.LoadBalancer // nil for none
	names    map[string]string      // of the balancer's rules, by ARN
}

// NewELB returns one without rules.
func NewELB() *ELB {
	return &ELB{
		Rules: make(map[string]types.Rule), Tags: make(map[string]map[string]string), Sticky: make(map[string]bool),
		Health: make(map[string][]types.TargetHealthStateEnum), shown: make(map[string]types.Rule), lags: make(map[string]int),
		names: make(map[string]string),
	}
}

// Error returns an error of AWS's, as the SDK's clients return it.
func Error(code, message string) error {
	return &smithy.OperationError{ServiceID: "localaws", OperationName: "x", Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

// enter counts a call, which is about something. Writes may be throttled.
func (e *ELB) enter(verb, arn string, write bool) error {
	e.Calls++
	if arn == "" {
		return Error("ValidationError", verb+" names nothing")
	}
	if e.Before != nil {
		if err := e.Before(verb, arn); err != nil {
			return err
		}
	}
	if write {
		if e.Tokens != nil && !e.Tokens() {
			return Error("ThrottlingException", "Rate exceeded")
		}
		e.Writes = append(e.Writes, verb+" "+arn)
	}
	return nil
}

// read returns a rule as it is shown.
func (e *ELB) read(arn string) (types.Rule, error) {
	r, ok := e.Rules[arn]
	if !ok {
		return r, Error("RuleNotFound", "One or more rules not found")
	}
	if e.Lag > 0 && e.lags[arn] > 0 {
		e.lags[arn]--
		r = e.shown[arn]
	}
	r.Actions = slices.Clone(r.Actions)
	return r, nil
}

// TagsOf returns a rule's tags.
func (e *ELB) TagsOf(arn string) map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.Tags[arn])
}

// listener returns the ARN of a rule's listener ("Resource types defined by
// Elastic Load Balancing V2").
func listener(rule string) string {
	rule = rule[:max(0, strings.LastIndexByte(rule, '/'))]
	return strings.Replace(rule, ":listener-rule/", ":listener/", 1)
}
