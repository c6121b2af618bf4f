package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestParseSource(t *testing.T) {
	for _, c := range []struct {
		source, kind, owner, name string
		ok                        bool
	}{
		{"asg:web", "asg", "", "web", true},
		{"asg:web/1", "asg", "", "web/1", true},
		{"ecs:prod/web", "ecs", "prod", "web", true},
		{"codedeploy:shop/blue:1/x", "codedeploy", "shop", "blue:1/x", true},
		{source: "asg:"},
		{source: "ecs:web"},
		{source: "ecs:/web"},
		{source: "codedeploy:shop/"},
		{source: "eks:prod/web"},
		{source: "web"},
		{source: ""},
	} {
		kind, owner, name, ok := cluster.ParseSource(c.source)
		assert.Equal(t, c.ok, ok, c.source)
		if ok {
			assert.Equal(t, []string{c.kind, c.owner, c.name}, []string{kind, owner, name})
		}
	}
}

func FuzzParseSource(f *testing.F) {
	f.Add("ecs:prod/web")
	f.Add("asg:web")
	f.Fuzz(func(t *testing.T, s string) {
		kind, owner, name, ok := cluster.ParseSource(s)
		if !ok {
			return
		}
		if owner != "" {
			owner += "/"
		}
		assert.Equal(t, s, kind+":"+owner+name)
	})
}
