package registrytest

import (
	"os"
	"strings"
	"testing"
)

// User is one line of an ACL file.
type User struct {
	Name  string
	Rules []string // a selector, which is in parentheses, is one rule
}

// Users reads the ACL file at path, which is written for the cluster called
// default, for the one called cluster. A failure ends the test.
func Users(t testing.TB, path, cluster string) map[string]User {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	users := make(map[string]User)
	text := strings.ReplaceAll(string(raw), "{detour:default}", "{detour:"+cluster+"}")
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, rules, _ := strings.Cut(rest, " ")
		if word != "user" || name == "" {
			t.Fatalf("registrytest: %s: line %.40q names no user", path, line)
		}
		users[name] = User{name, splitRules(rules)}
	}
	return users
}

// splitRules splits at spaces outside parentheses.
func splitRules(s string) (rules []string) {
	inside := false
	for _, word := range strings.Fields(s) {
		if inside {
			rules[len(rules)-1] += " " + word
		} else {
			rules = append(rules, word)
		}
		inside = (inside || strings.HasPrefix(word, "(")) && !strings.HasSuffix(word, ")")
	}
	return rules
}

// Without returns u once for each right that it has, short of this one: a
// command, a key pattern or a channel, in or outside a selector.
func (u User) Without() map[string]User {
	all := make(map[string]User)
	for i, rule := range u.Rules {
		for right, rest := range weaker(rule) {
			rules := append([]string{}, u.Rules[:i]...)
			if rest != "" {
				rules = append(rules, rest)
			}
			all[right] = User{u.Name, append(rules, u.Rules[i+1:]...)}
		}
	}
	return all
}

// weaker returns what is left of rule without each of its rights.
func weaker(rule string) map[string]string {
	if !strings.HasPrefix(rule, "(") {
		if strings.ContainsAny(rule[:1], "+%~&") {
			return map[string]string{rule: ""}
		}
		return nil
	}
	words := strings.Fields(strings.Trim(rule, "()"))
	left := make(map[string]string, len(words))
	for i, right := range words {
		others := append(append([]string{}, words[:i]...), words[i+1:]...)
		left[right+" in "+rule] = "(" + strings.Join(others, " ") + ")"
	}
	return left
}
