package template

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mutation is a change of one file that a rule must not let pass. What comes first
// is replaced; new may be empty. The file is template.yaml unless named.
type mutation struct{ old, new, file string }

// swap returns the mutations of pairs: what is there, what comes instead.
func swap(pairs ...string) (all []mutation) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, mutation{pairs[i], pairs[i+1], templateFile})
	}
	return all
}

// in returns the mutations of pairs for another file.
func in(file string, pairs ...string) (all []mutation) {
	for _, m := range swap(pairs...) {
		all = append(all, mutation{m.old, m.new, file})
	}
	return all
}

func (m mutation) apply(files map[string]string) (map[string]string, bool) {
	if !strings.Contains(files[m.file], m.old) {
		return nil, false
	}
	changed := maps.Clone(files)
	changed[m.file] = strings.Replace(files[m.file], m.old, m.new, 1)
	return changed, true
}

func TestEveryRuleCanFail(t *testing.T) {
	files := read(t)
	var r reader
	assert.Equal(t, slices.Sorted(maps.Keys(rules)), slices.Sorted(maps.Keys(mutations)))
	for name, list := range mutations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range list {
				changed, ok := m.apply(files)
				require.True(t, ok, "%s has no %q", m.file, m.old)
				h, err := r.build(changed)
				require.NoError(t, err, "%q", m.new)
				assert.NotEmpty(t, rules[name](h), "%q for %q passes", m.new, m.old)
			}
		})
	}
}

// resourcesOfLines are those of which every line counts: without any of them a
// rule fails, or the resource is none any more.
var resourcesOfLines = []string{
	"RedirectPermission", "RedirectTargetGroup", "DeadLetterQueuePolicy", "AutoScalingRule", "AutoScalingRulePermission", "FrontRule", "Route2Rule",
	"CacheIngress", "LoadBalancingEndpoint", "HeartbeatUser", "NodePolicy", "TickAgeAlarm",
}

// spared are lines that only describe, that cfn-lint misses, or that are a matter
// of taste.
var spared = regexp.MustCompile(
	`^[ -]*((Type|Version|Description|Metadata|VpcEndpointType|VpcId|SubnetIds|IpProtocol|Period|EvaluationPeriods|DatapointsToAlarm): ` +
		`|!Ref AWS::NoValue)`)

func TestNoLineCanBeLeftOut(t *testing.T) {
	var r reader
	h, err := r.build(read(t))
	require.NoError(t, err)
	_, text, _ := strings.Cut(h.files[templateFile], "\nResources:\n")
	lines := strings.Split(text, "\n")
	for _, name := range resourcesOfLines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := slices.Index(lines, "  "+name+":")
			require.GreaterOrEqual(t, first, 0)
			block := lines[first : first+slices.Index(lines[first:], "")]
			for i, line := range block {
				if !spared.MatchString(line) {
					left := strings.Join(slices.Concat(block[:i], block[i+1:]), "\n")
					assert.True(t, h.notices(name, left), "may be left out: %s", line)
				}
			}
		})
	}
}

// notices reports whether anything is wrong with h once text stands for one of its
// resources.
func (h house) notices(name, text string) bool {
	one, err := parse(text)
	if err != nil || !slices.Equal(members(one), []string{name}) {
		return true
	}
	resources := maps.Clone(h.resources())
	resources[name] = one[name]
	h.root = maps.Clone(h.root)
	h.root["Resources"] = resources
	for _, rule := range rules {
		if len(rule(h)) > 0 {
			return true
		}
	}
	return false
}
