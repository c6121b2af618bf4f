package template

// scheduleTicks wants the name left to AWS, which is one for the whole account
// otherwise (github.com/aws/serverless-application-model/issues/3109).
func scheduleTicks(h house) []string {
	var f faults
	tick := h.property(heartbeatFunction, "Events", "Tick")
	f.want("Events", members(h.property(heartbeatFunction, "Events")), []string{"Tick"})
	f.want("Type", at(tick, "Type"), "ScheduleV2")
	f.want("ScheduleExpression", at(tick, "Properties", "ScheduleExpression"), "rate(1 minute)")
	f.want("OmitName", at(tick, "Properties", "OmitName"), true)
	f.want("Input", at(tick, "Properties", "Input"), `{"command":"tick","time":"<aws.scheduler.scheduled-time>"}`)
	f.want("RetryPolicy", at(tick, "Properties", "RetryPolicy"), object{"MaximumRetryAttempts": 0})
	return f
}

// failedEventsAreKept wants the queue's policy: nothing makes one for a queue that
// is named by its ARN, and what EventBridge cannot deliver would vanish.
func failedEventsAreKept(h house) []string {
	var f faults
	arn := object{"Fn::GetAtt": "DeadLetterQueue.Arn"}
	f.want("EventInvokeConfig", h.property(heartbeatFunction, "EventInvokeConfig"), object{
		"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 900,
		"DestinationConfig": object{"OnFailure": object{"Type": "SQS", "Destination": arn}},
	})
	f.want("queue", h.property("DeadLetterQueue"), object{"SqsManagedSseEnabled": true, "MessageRetentionPeriod": 1209600})
	f.want("policy", h.with().value(h.property("DeadLetterQueuePolicy")), object{
		"Queues": []any{"DeadLetterQueue"},
		"PolicyDocument": object{"Version": "2012-10-17", "Statement": []any{object{
			"Effect": "Allow", "Principal": object{"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": "DeadLetterQueue.Arn",
			"Condition": object{
				"ArnLike":      object{"aws:SourceArn": "arn:aws:events:eu-west-1:123456789012:rule/*"},
				"StringEquals": object{"aws:SourceAccount": "123456789012"},
			},
		}}},
	})
	return f
}

// eventsReachHeartbeat knows the events by their envelopes (AWS, "Events from AWS
// services").
func eventsReachHeartbeat(h house) []string {
	var f faults
	expected := map[string]struct {
		condition, parameter string
		value                any
		pattern              object
	}{
		"AutoScalingRule": {"HasAutoScaling", "AutoScalingGroupNames", []any{"a", "b"}, object{
			"source": []any{"aws.autoscaling"}, "detail-type": []any{"EC2 Instance-launch Lifecycle Action", "EC2 Instance-terminate Lifecycle Action"},
			"detail": object{"AutoScalingGroupName": []any{"a", "b"}},
		}},
		"SpotRule": {"HasSpot", "SpotEvents", "true", object{
			"source": []any{"aws.ec2"}, "detail-type": []any{"EC2 Instance Rebalance Recommendation", "EC2 Spot Instance Interruption Warning"},
		}},
		"EcsRule": {"HasEcs", "EcsClusterArns", []any{"arn"}, object{
			"source": []any{"aws.ecs"}, "detail-type": []any{"ECS Task State Change"},
			"detail": object{"clusterArn": []any{"arn"}, "desiredStatus": []any{"STOPPED"}},
		}},
		"EcsDeploymentRule": {"HasEcs", "EcsClusterArns", []any{"arn"}, object{
			"source": []any{"aws.ecs"}, "detail-type": []any{"ECS Deployment State Change"},
		}},
		"CodeDeployRule": {"HasCodeDeploy", "CodeDeployApplications", []any{"shop", "web"}, object{
			"source": []any{"aws.codedeploy"}, "detail-type": []any{"CodeDeploy Deployment State-change Notification", "CodeDeploy Instance State-change Notification"},
			"detail": object{"application": []any{"shop", "web"}},
		}},
	}
	f.want("rules", len(h.of("AWS::Events::Rule")), len(expected))
	target := object{
		"Id": "heartbeat", "Arn": object{"Fn::GetAtt": heartbeatFunction + ".Arn"},
		"DeadLetterConfig": object{"Arn": object{"Fn::GetAtt": "DeadLetterQueue.Arn"}},
		"RetryPolicy":      object{"MaximumEventAgeInSeconds": 900, "MaximumRetryAttempts": 5},
	}
	for _, name := range h.of("AWS::Events::Rule") {
		want := expected[name]
		f.want(name+" Condition", at(h.resources(), name, "Condition"), want.condition)
		condition := section(h, "Conditions")[want.condition]
		f.check(!h.with().condition(condition), "%s is made by default", name)
		on := h.with(want.parameter, want.value)
		f.check(on.condition(condition), "%s is not made with %s", name, want.parameter)
		f.want(name+" EventPattern", on.value(h.property(name, "EventPattern")), want.pattern)
		f.want(name+" Targets", h.property(name, "Targets"), []any{target})
		f.want(name+" permission", at(h.resources(), name+"Permission"), object{
			"Type": "AWS::Lambda::Permission", "Condition": want.condition, "Properties": object{
				"Action": "lambda:InvokeFunction", "FunctionName": object{"Fn::GetAtt": heartbeatFunction + ".Arn"},
				"Principal": "events.amazonaws.com", "SourceArn": object{"Fn::GetAtt": name + ".Arn"},
			},
		})
	}
	return f
}
