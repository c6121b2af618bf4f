package template

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/detourhq/detour/internal/metrics"
)

// ownMetrics are those that the heartbeat function writes.
var ownMetrics = []string{"AwsUnreachable", "Pruned", "RegistryErrors", "RulesContested", "TickAge"}

var (
	theCluster = object{"Cluster": object{"Ref": "Cluster"}}
	redirect   = object{"FunctionName": object{"Ref": redirectFunction}}
	heartbeat  = object{"FunctionName": object{"Ref": heartbeatFunction}}
	balancer   = object{
		"LoadBalancer": object{"Fn::Sub": []any{"app/${Name}/${Id}", object{
			"Name": object{"Fn::Select": []any{2, object{"Fn::Split": []any{"/", object{"Ref": "ListenerArn"}}}}},
			"Id":   object{"Fn::Select": []any{3, object{"Fn::Split": []any{"/", object{"Ref": "ListenerArn"}}}}},
		}}},
		"TargetGroup": object{"Fn::GetAtt": "RedirectTargetGroup.TargetGroupFullName"},
	}
)

// dimensions are of the metrics that alarms watch, by namespace and name. With
// other dimensions an alarm watches a metric that never comes, and is silent.
var dimensions = map[string][]object{
	"AWS/Lambda Errors":                            {redirect, heartbeat},
	"AWS/Lambda Throttles":                         {redirect, heartbeat},
	"AWS/Lambda Duration":                          {redirect},
	"AWS/ApplicationELB HTTPCode_Target_5XX_Count": {balancer},
	"AWS/ApplicationELB LambdaUserError":           {balancer},
	"AWS/ApplicationELB LambdaInternalError":       {balancer},
	"AWS/SQS ApproximateNumberOfMessagesVisible":   {{"QueueName": object{"Fn::GetAtt": "DeadLetterQueue.QueueName"}}},
	"AWS/ElastiCache ThrottledCmds":                {{"clusterId": object{"Ref": "Cache"}}},
}

func alarmsAreComplete(h house) []string {
	var f faults
	watched := 0
	for _, alarm := range h.of("AWS::CloudWatch::Alarm") {
		f.check(strings.HasSuffix(fmt.Sprint(h.property(alarm, "AlarmDescription")), "; see docs/runbook.md"), "%s does not name the runbook", alarm)
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			f.want(alarm+" "+actions, h.with("AlarmTopicArn", "arn:topic").value(h.property(alarm, actions)), []any{"arn:topic"})
			f.want(alarm+" "+actions+" by default", h.with().value(h.property(alarm, actions)), nil)
		}
		missing := "notBreaching"
		if alarm == "TickAgeAlarm" {
			missing = "breaching" // no tick, no metric
		}
		f.want(alarm+" TreatMissingData", h.property(alarm, "TreatMissingData"), missing)
		f.want(alarm+" ComparisonOperator", h.property(alarm, "ComparisonOperator"), "GreaterThanOrEqualToThreshold")
		f.check(h.property(alarm, "Statistic") != nil || h.property(alarm, "ExtendedStatistic") != nil, "%s has no statistic", alarm)
		f.check(h.property(alarm, "Threshold") != nil, "%s has no threshold", alarm)
		if h.property(alarm, "Namespace") != metrics.Namespace {
			watched++
			f.check(watches(h, alarm), "%s watches a metric that is not in the list", alarm)
		}
	}
	want := 0
	for _, all := range dimensions {
		want += len(all)
	}
	f.want("alarms on metrics of AWS", watched, want)
	return f
}

func watches(h house, alarm string) bool {
	name := fmt.Sprint(h.property(alarm, "Namespace"), " ", h.property(alarm, "MetricName"))
	return slices.ContainsFunc(dimensions[name], func(o object) bool { return fmt.Sprint(o) == fmt.Sprint(dimensionsOf(h, alarm)) })
}

func dimensionsOf(h house, alarm string) object {
	all := object{}
	list, _ := h.property(alarm, "Dimensions").([]any)
	for _, d := range list {
		all[fmt.Sprint(at(d, "Name"))] = at(d, "Value")
	}
	return all
}

func ownMetricsHaveAlarms(h house) []string {
	var f faults
	var watched []string
	for _, alarm := range h.of("AWS::CloudWatch::Alarm") {
		if h.property(alarm, "Namespace") == metrics.Namespace {
			watched = append(watched, fmt.Sprint(h.property(alarm, "MetricName")))
			f.want(alarm+" Dimensions", dimensionsOf(h, alarm), theCluster)
		}
	}
	slices.Sort(watched)
	f.want("metrics with an alarm", watched, ownMetrics)
	return f
}

var heading = regexp.MustCompile(`(?m)^### (\w+Alarm)$`)

func alarmsAreInTheRunbook(h house) []string {
	var f faults
	var sections []string
	for _, m := range heading.FindAllStringSubmatch(h.files["docs/runbook.md"], -1) {
		sections = append(sections, m[1])
	}
	slices.Sort(sections)
	f.want("sections of docs/runbook.md", sections, h.of("AWS::CloudWatch::Alarm"))
	return f
}

// dashboardIsJSON renders what cfn-lint does not look into.
func dashboardIsJSON(h house) []string {
	var f faults
	for _, s := range []setting{h.with(), h.with("RedisUrl", ownURL)} {
		body := fmt.Sprint(s.value(h.property("Dashboard", "DashboardBody")))
		var dashboard struct {
			Widgets []struct {
				Type       string
				Properties struct {
					Title, Region string
					Metrics       [][]any
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &dashboard); err != nil {
			return []string{"dashboard: " + err.Error()}
		}
		f.check(len(dashboard.Widgets) > 0, "dashboard is empty")
		f.check(!strings.Contains(body, "${"), "dashboard has a variable left")
		for _, w := range dashboard.Widgets {
			first := fmt.Sprint(w.Properties.Metrics)
			f.check(!strings.HasPrefix(first, "[[."), "widget %q begins with a metric like the one before", w.Properties.Title)
			f.check(w.Type == "metric" && w.Properties.Title != "" && w.Properties.Region == "eu-west-1" && len(w.Properties.Metrics) > 0, "widget %q", w.Properties.Title)
		}
		for _, metric := range ownMetrics {
			f.check(strings.Contains(body, `"`+metric+`"`), "dashboard lacks %s", metric)
		}
	}
	return f
}
