package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/detourhq/detour/internal/config"
)

const (
	redirectFunction  = "RedirectFunction"
	heartbeatFunction = "HeartbeatFunction"
	prefix            = "DETOUR_"
)

// functionsAreOurBinaries knows that the targets of the Makefile are called as
// the functions are (AWS SAM, "Building Lambda functions with custom runtimes").
func functionsAreOurBinaries(h house) []string {
	var f faults
	f.want("functions", h.of("AWS::Serverless::Function"), []string{heartbeatFunction, redirectFunction})
	for name, want := range map[string]any{"Runtime": "provided.al2023", "Architectures": []any{"arm64"}, "Handler": "bootstrap", "CodeUri": "."} {
		f.want("Globals "+name, at(h.root, "Globals", "Function", name), want)
		for _, function := range h.of("AWS::Serverless::Function") {
			f.want(function+" "+name, h.property(function, name), nil)
		}
	}
	for _, function := range h.of("AWS::Serverless::Function") {
		f.want(function+" BuildMethod", at(h.resources(), function, "Metadata", "BuildMethod"), "makefile")
		f.check(strings.Contains(h.files["Makefile"], "\nbuild-"+function+":"), "Makefile has no build-%s", function)
	}
	for _, flag := range []string{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "-trimpath", "-buildvcs=false", "-tags lambda.norpc"} {
		f.check(strings.Contains(h.files["Makefile"], flag), "Makefile builds without %s", flag)
	}
	return f
}

// functionsHaveNoVersions keeps target, permission and configuration one: an
// alias would go on serving what a changed parameter was before
// (github.com/aws/serverless-application-model/issues/1640).
func functionsHaveNoVersions(h house) []string {
	var f faults
	for _, function := range h.of("AWS::Serverless::Function") {
		for _, name := range []string{"AutoPublishAlias", "DeploymentPreference", "ProvisionedConcurrencyConfig"} {
			f.want(function+" "+name, h.property(function, name), nil)
			f.want("Globals "+name, at(h.root, "Globals", "Function", name), nil)
		}
	}
	f.want("reserved concurrency of "+heartbeatFunction, h.property(heartbeatFunction, "ReservedConcurrentExecutions"), nil)
	f.want("its timeout", h.property(heartbeatFunction, "Timeout"), 60)
	f.want("reserved concurrency by default", h.with().value(h.property(redirectFunction, "ReservedConcurrentExecutions")), nil)
	f.want("reserved concurrency of 0", h.with("RedirectConcurrency", 0).value(h.property(redirectFunction, "ReservedConcurrentExecutions")), 0)
	return f
}

// environment returns a function's variables, as Lambda would hand them over with
// one of its own.
func (s setting) environment(function string) map[string]string {
	all := map[string]string{"AWS_REGION": "eu-west-1"}
	for _, from := range []any{at(s.root, "Globals", "Function"), s.property(function)} {
		variables, _ := s.value(at(from, "Environment", "Variables")).(object)
		for name, v := range variables {
			all[name] = fmt.Sprint(v)
		}
	}
	return all
}

const ownURL = "redis://registry.example.com:6379"

// variablesAreThoseOfConfig compares with a registry of one's own, with which
// nothing but its URL is set.
func variablesAreThoseOfConfig(h house) []string {
	var f faults
	s := h.with("RedisUrl", ownURL, "RedirectTargetGroup", "")
	redirect, heartbeat := s.environment(redirectFunction), s.environment(heartbeatFunction)
	f.want("variables of "+redirectFunction, ours(redirect), variables(reflect.TypeFor[config.Redirect]()))
	f.want("variables of "+heartbeatFunction, ours(heartbeat), variables(reflect.TypeFor[config.Heartbeat]()))
	bare := map[string]string{"DETOUR_REDIS_URL": ownURL, "AWS_REGION": "eu-west-1"}

	gotR, err := config.ReadRedirect(redirect)
	f.want("fault of "+redirectFunction, err, nil)
	wantR, _ := config.ReadRedirect(bare)
	f.want("configuration of "+redirectFunction, gotR, wantR)
	gotH, err := config.ReadHeartbeat(heartbeat)
	f.want("fault of "+heartbeatFunction, err, nil)
	wantH, _ := config.ReadHeartbeat(bare)
	f.want("configuration of "+heartbeatFunction, gotH, wantH)

	f.want("default target group", h.with().environment(heartbeatFunction)["DETOUR_TARGET_GROUP"], "RedirectTargetGroup")
	apart := h.with("RedisUrl", ownURL, "HeartbeatRedisUrl", "redis://heartbeat@h")
	f.want("URL of the redirect function", apart.environment(redirectFunction)["DETOUR_REDIS_URL"], ownURL)
	f.want("URL of the heartbeat function", apart.environment(heartbeatFunction)["DETOUR_REDIS_URL"], "redis://heartbeat@h")
	return f
}

// variables returns what a configuration's fields are read from, in order.
func variables(t reflect.Type) (names []string) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		} else if field.Anonymous {
			names = append(names, variables(field.Type)...)
		}
	}
	slices.Sort(names)
	return names
}

// ours returns the names that are ours, in order.
func ours(environment map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(environment)), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

func ownCacheIsReachedByIAM(h house) []string {
	var f faults
	s := h.with("RedirectUser", "redirect", "HeartbeatUser", "heartbeat", "NodeUser", "node", "Cache", "cache")
	const url = "rediss://cache.example.com:6379"
	r, err := config.ReadRedirect(s.environment(redirectFunction))
	f.want("fault of "+redirectFunction, err, nil)
	f.want("registry of "+redirectFunction, []any{r.URL, r.IAMUser, r.CacheName, bool(r.Serverless)}, []any{url, "redirect", "cache", true})
	b, err := config.ReadHeartbeat(s.environment(heartbeatFunction))
	f.want("fault of "+heartbeatFunction, err, nil)
	f.want("registry of "+heartbeatFunction, []any{b.URL, b.IAMUser, b.CacheName, bool(b.Serverless)}, []any{url, "heartbeat", "cache", true})
	f.want("line for nodes", s.value(at(h.root, "Outputs", "NodeCommand", "Value")), "AWS_REGION=eu-west-1 DETOUR_CLUSTER=default DETOUR_REDIS_URL="+url+
		" DETOUR_REDIS_SERVERLESS=on DETOUR_REDIS_CACHE_NAME=cache DETOUR_REDIS_IAM_USER=node detour agent --group blue --endpoint https://n1.example.com")
	return f
}

// logsEnd wants log groups of our own, and the level at which metrics, lines without one, are let through (AWS Lambda, "Log-level filtering").
func logsEnd(h house) []string {
	var f faults
	for function, group := range map[string]string{redirectFunction: "RedirectLogGroup", heartbeatFunction: "HeartbeatLogGroup"} {
		f.want(function+" LogGroup", h.property(function, "LoggingConfig", "LogGroup"), object{"Ref": group})
		f.want(function+" LogFormat", h.property(function, "LoggingConfig", "LogFormat"), "JSON")
		f.want(group+" RetentionInDays", h.property(group, "RetentionInDays"), object{"Ref": "LogRetentionDays"})
	}
	f.want("level of "+heartbeatFunction, h.property(heartbeatFunction, "LoggingConfig", "ApplicationLogLevel"), "INFO")
	return f
}
