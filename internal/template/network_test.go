package template

import "fmt"

// networkIsClosed reads each security group as FROM-TO WHOM.
func networkIsClosed(h house) []string {
	var f faults
	own := h.with("RedisUrl", ownURL, "RedisSecurityGroupId", "sg-1", "RedisPort", 6400, "ProbePorts", "8080-8090")
	f.want("functions", h.property(redirectFunction, "VpcConfig", "SecurityGroupIds"), []any{object{"Ref": "RegistryClientSecurityGroup"}})
	f.want("functions", h.with().value(h.property(heartbeatFunction, "VpcConfig", "SecurityGroupIds")),
		[]any{"RegistryClientSecurityGroup", "HeartbeatSecurityGroup"})
	for _, c := range []struct {
		s           setting
		group, kind string
		want        []string
	}{
		{h.with(), "RegistryClientSecurityGroup", "SecurityGroupEgress", []string{"6379-6380 CacheSecurityGroup.GroupId"}},
		{own, "RegistryClientSecurityGroup", "SecurityGroupEgress", []string{"6400-6400 0.0.0.0/0"}},
		{h.with(), "HeartbeatSecurityGroup", "SecurityGroupEgress", []string{"443-443 0.0.0.0/0"}},
		{own, "HeartbeatSecurityGroup", "SecurityGroupEgress", []string{"443-443 0.0.0.0/0", "8080-8090 0.0.0.0/0"}},
		{h.with(), "EndpointSecurityGroup", "SecurityGroupIngress", []string{"443-443 HeartbeatSecurityGroup.GroupId"}},
	} {
		f.want(c.group+" "+c.kind, ports(c.s.value(h.property(c.group, c.kind))), c.want)
	}
	f.want("CacheIngress", ports([]any{own.value(h.property("CacheIngress"))}), []string{"6379-6380 RegistryClientSecurityGroup.GroupId"})
	f.want("RedisIngress", ports([]any{own.value(h.property("RedisIngress"))}), []string{"6400-6400 RegistryClientSecurityGroup.GroupId"})
	f.want("GroupId of CacheIngress", own.value(h.property("CacheIngress", "GroupId")), "CacheSecurityGroup.GroupId")
	f.want("GroupId of RedisIngress", own.value(h.property("RedisIngress", "GroupId")), "sg-1")

	var services []string
	for _, endpoint := range h.of("AWS::EC2::VPCEndpoint") {
		services = append(services, fmt.Sprint(own.value(h.property(endpoint, "ServiceName"))))
		f.want(endpoint+" Condition", at(h.resources(), endpoint, "Condition"), "HasEndpoints")
		f.want(endpoint+" PrivateDnsEnabled", h.property(endpoint, "PrivateDnsEnabled"), true)
		f.want(endpoint+" SecurityGroupIds", h.property(endpoint, "SecurityGroupIds"), []any{object{"Ref": "EndpointSecurityGroup"}})
	}
	const service = "com.amazonaws.eu-west-1."
	f.want("endpoints", services, []string{service + "autoscaling", service + "codedeploy", service + "ecs", service + "elasticloadbalancing"})
	f.check(!h.with().condition(section(h, "Conditions")["HasEndpoints"]), "endpoints are made by default")
	return f
}

func ports(rules any) (all []string) {
	list, _ := rules.([]any)
	for _, r := range list {
		whom := at(r, "CidrIp")
		for _, member := range []string{"DestinationSecurityGroupId", "SourceSecurityGroupId"} {
			if id := at(r, member); id != nil {
				whom = id
			}
		}
		all = append(all, fmt.Sprintf("%v-%v %v", at(r, "FromPort"), at(r, "ToPort"), whom))
	}
	return all
}
