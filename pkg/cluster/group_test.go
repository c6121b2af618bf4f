package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestARuleForLargeBodiesIsWhole(t *testing.T) {
	for _, c := range []struct {
		name  string
		group cluster.Group
		ok    bool
	}{
		{"none", cluster.Group{Rules: []string{"r"}, TargetGroup: "blue"}, true},
		{"whole", cluster.Group{Rules: []string{"r"}, TargetGroup: "blue", LargeBodyRule: "l", LargeBodyTargetGroup: "green"}, true},
		{"whole, on a rule's only target group", cluster.Group{LargeBodyRule: "l", LargeBodyTargetGroup: "green"}, true},
		{"without a target group", cluster.Group{LargeBodyRule: "l"}, false},
		{"without a rule", cluster.Group{LargeBodyTargetGroup: "green"}, false},
		{"one of the other rules", cluster.Group{Rules: []string{"l"}, LargeBodyRule: "l", LargeBodyTargetGroup: "green"}, false},
		{"to the group's own", cluster.Group{TargetGroup: "blue", LargeBodyRule: "l", LargeBodyTargetGroup: "blue"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.group.ID = "blue"
			err := c.group.Check()
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, cluster.ErrInvalid)
		})
	}
}

func TestMovedRulesAreAll(t *testing.T) {
	g := cluster.Group{Rules: make([]string, 1, 2)}
	g.Rules[0] = "a"
	assert.Equal(t, []string{"a"}, g.MovedRules())
	g.LargeBodyRule = "l"
	assert.Equal(t, []string{"a", "l"}, g.MovedRules())
	assert.Equal(t, []string{"a", ""}, g.Rules[:2], "the record is not written to")
}
