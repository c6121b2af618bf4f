package template

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

var cacheName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// cacheIsNamed knows that ElastiCache takes only lower case, that a user's id and
// name are the same where IAM lets in, and Valkey's own rules for users (AWS,
// "Authenticating with IAM", "Role-Based Access Control").
func cacheIsNamed(h house) []string {
	var f faults
	s := h.with()
	names := map[string]any{"cache": h.property("Cache", "ServerlessCacheName"), "group": h.property("UserGroup", "UserGroupId")}
	for _, user := range h.of("AWS::ElastiCache::User") {
		names[user] = h.property(user, "UserId")
		f.want(user+" Engine", h.property(user, "Engine"), "valkey")
		if user != "DefaultUser" {
			f.want(user+" Condition", at(h.resources(), user, "Condition"), "CreateCache")
			f.want(user+" UserName", h.property(user, "UserName"), h.property(user, "UserId"))
			f.want(user+" AuthenticationMode", h.property(user, "AuthenticationMode"), object{"Type": "iam"})
		}
	}
	for what, name := range names {
		got := fmt.Sprint(s.value(name))
		f.check(cacheName.MatchString(got) && strings.Contains(got, "1234567db123"), "name of %s is %q", what, got)
	}
	f.want("users", s.value(h.property("UserGroup", "UserIds")), []any{"RedirectUser", "NodeUser", "HeartbeatUser"})
	f.want("users with the default one", len(h.with("CacheDefaultUserPassword", "x").value(h.property("UserGroup", "UserIds")).([]any)), 4)
	f.want("default user", h.property("DefaultUser", "AccessString"), "off -@all")
	f.want("Engine of the group", h.property("UserGroup", "Engine"), "valkey")
	f.want("Tags of the group", h.property("UserGroup", "Tags"), nil)
	f.want("group of the cache", h.property("Cache", "UserGroupId"), object{"Ref": "UserGroup"})
	f.want("Engine of the cache", []any{h.property("Cache", "Engine"), h.property("Cache", "MajorEngineVersion")}, []any{"valkey", "8"})
	f.want("limits", h.property("Cache", "CacheUsageLimits"), object{
		"DataStorage":   object{"Maximum": object{"Ref": "CacheStorageGB"}, "Unit": "GB"},
		"ECPUPerSecond": object{"Maximum": object{"Ref": "CacheECPUPerSecond"}},
	})
	f.want("subnets", s.value(h.property("Cache", "SubnetIds")), standard["SubnetIds"])
	f.want("subnets apart", h.with("CacheSubnetIds", []any{"subnet-9"}).value(h.property("Cache", "SubnetIds")), []any{"subnet-9"})
	f.want("security groups", s.value(h.property("Cache", "SecurityGroupIds")), []any{"CacheSecurityGroup.GroupId"})
	return f
}

// usersAreThoseOfACL leaves out of docs/registry.acl what ElastiCache gives a user
// in another way, and what a new user is anyway.
func usersAreThoseOfACL(h house) []string {
	var f faults
	text, err := os.ReadFile("../../docs/registry.acl")
	if err != nil {
		return []string{err.Error()}
	}
	for user, name := range map[string]string{"RedirectUser": "detour-redirect", "NodeUser": "detour-node", "HeartbeatUser": "detour-heartbeat"} {
		_, line, found := strings.Cut(string(text), "user "+name+" ")
		f.check(found, "docs/registry.acl has no %s", name)
		line, _, _ = strings.Cut(line, "\n")
		rules := slices.DeleteFunc(strings.Fields(line), func(r string) bool { return r == "resetpass" || r == "resetkeys" })
		for _, name := range []string{"default", "eu"} {
			want := strings.ReplaceAll(strings.Join(rules, " "), "{detour:default}", "{detour:"+name+"}")
			f.want("rights of "+user, h.with("Cluster", name).value(h.property(user, "AccessString")), want)
		}
	}
	return f
}
