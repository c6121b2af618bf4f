package template

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rule returns what is wrong with h, one line each.
type rule func(h house) []string

var rules = map[string]rule{
	"functions are our own binaries":                           functionsAreOurBinaries,
	"functions have neither versions nor reserves":             functionsHaveNoVersions,
	"every variable is set, and by its own default":            variablesAreThoseOfConfig,
	"with a cache of our own IAM lets in":                      ownCacheIsReachedByIAM,
	"logs end":                                                 logsEnd,
	"the load balancer may invoke what it targets":             loadBalancerMayInvoke,
	"the target group takes multi-value headers":               targetGroupTakesMultiValues,
	"listener rules rest on the application":                   listenerRulesRest,
	"the schedule ticks each minute":                           scheduleTicks,
	"failed events are kept":                                   failedEventsAreKept,
	"AWS events reach the heartbeat function":                  eventsReachHeartbeat,
	"policies allow what is needed":                            policiesAllowWhatIsNeeded,
	"every role has the boundary":                              rolesHaveTheBoundary,
	"the network is closed":                                    networkIsClosed,
	"the cache is named as ElastiCache wants it":               cacheIsNamed,
	"users may do what docs/registry.acl says":                 usersAreThoseOfACL,
	"alarms are complete":                                      alarmsAreComplete,
	"every metric of ours has its alarm":                       ownMetricsHaveAlarms,
	"every alarm is in the runbook":                            alarmsAreInTheRunbook,
	"the dashboard is JSON":                                    dashboardIsJSON,
	"parameters are used, grouped and explained":               parametersAreKept,
	"resources are made when asked for, and go with the stack": resourcesAreMade,
	"conditions are used":                                      conditionsAreUsed,
	"docs/deploy.md lists the parameters":                      deployListsParameters,
	"secrets are not shown":                                    secretsAreNotShown,
	"outputs are explained":                                    outputsAreExplained,
	"samconfig.toml fits":                                      samconfigFits,
	"the version is VERSION's":                                 versionIsVERSION,
	"a rule asserts what belongs together":                     rulesAssert,
}

func TestTheTemplateStands(t *testing.T) {
	files := read(t)
	var r reader
	h, err := r.build(files)
	require.NoError(t, err)
	whole, err := parse(files[templateFile])
	require.NoError(t, err)
	require.Equal(t, whole, h.root)
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, wrong := range rule(h) {
				t.Error(wrong)
			}
		})
	}
}

// A template that CloudFormation would not read is not read here either.
func TestABrokenTemplateIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "empty",
		"a: [":                 "parse",
		"- a":                  "no mapping",
		"a: 1\na: 2":           "twice",
		"a: &x 1\nb: *x":       "alias",
		"a: {b: 1, b: 2}":      "twice",
		"a: [{b: 1, b: 2}]":    "twice",
		"a: !Sub {b: 1, b: 2}": "twice",
	} {
		_, err := parse(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestFunctionsAreCarriedOut(t *testing.T) {
	root, err := parse(`
Parameters: {P: {Default: p}, L: {Type: CommaDelimitedList, Default: ''}}
Conditions: {Yes: !Equals [!Ref P, p], No: !Not [!Condition Yes], Both: !And [!Condition Yes, !Condition No]}
`)
	require.NoError(t, err)
	s := house{root: root}.with("Q", "a/b", "R.Arn", "arn")
	for text, want := range map[string]any{
		"!Ref P": "p", "!Ref Q": "a/b", "!Ref R": "R", "!GetAtt R.Arn": "arn", "!Ref AWS::NoValue": nil,
		"!If [Yes, 1, 2]": 1, "!If [No, 1, 2]": 2, "!If [Both, 1, 2]": 2,
		"!Sub '${P}-{x}-${R.Arn}'":                "p-{x}-arn",
		"!Sub ['${Z}${P}', {Z: !Ref Q}]":          "a/bp",
		"!Select [1, !Split ['/', !Ref Q]]":       "b",
		"!Join ['', !Ref L]":                      "",
		"[!Ref P, !Ref AWS::NoValue]":             []any{"p"},
		"{a: !Ref P, b: !Ref AWS::NoValue, c: 1}": object{"a": "p", "c": 1},
	} {
		o, err := parse("v: " + text)
		require.NoError(t, err)
		assert.Equal(t, want, s.value(o["v"]), text)
	}
}

// faults collects what is wrong.
type faults []string

// want adds a fault unless got is want.
func (f *faults) want(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		*f = append(*f, fmt.Sprintf("%s is %v, not %v", what, got, want))
	}
}

// check adds a fault unless ok.
func (f *faults) check(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// references returns what v refers to: parameters, resources, conditions.
func references(v any) map[string]bool {
	names := make(map[string]bool)
	refer(v, names)
	return names
}

func refer(v any, names map[string]bool) {
	switch v := v.(type) {
	case object:
		for member, inner := range v {
			for _, name := range named(member, inner) {
				names[name] = true
			}
			refer(inner, names)
		}
	case []any:
		for _, inner := range v {
			refer(inner, names)
		}
	}
}

// named returns what a function, or a resource's Condition, names by its argument.
func named(function string, arg any) (names []string) {
	if list, ok := arg.([]any); ok {
		arg = at(list, 0)
	}
	text, _ := arg.(string)
	switch function {
	case "Ref", "Condition", "Fn::GetAtt", "Fn::If":
		names = append(names, text)
	case "Fn::Sub":
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	for i, name := range names {
		names[i], _, _ = strings.Cut(name, ".")
	}
	return names
}
