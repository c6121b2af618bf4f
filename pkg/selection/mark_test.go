package selection

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The values come from another implementation. They stand in URLs: no version may change them.
func TestMarksNeverChange(t *testing.T) {
	for id, want := range map[string]Mark{
		"":                    736645303,
		"a":                   999202238,
		"n1":                  395655390,
		"n2":                  395649479,
		"i-0123456789abcdef0": 120887511,
	} {
		assert.Equal(t, want, MarkOf(id), id)
	}
}

func TestMarksHave30BitsAndAreApart(t *testing.T) {
	seen := map[Mark]bool{}
	for i := range 10_000 {
		m := MarkOf(fmt.Sprintf("ip-192-0-2-%d", i))
		assert.Less(t, m, Mark(1<<30))
		seen[m] = true
	}
	assert.Greater(t, len(seen), 9_997, "by chance 0.05 of them coincide")
}

func TestANodeThatSharesTheOriginsMarkIsNotTheOrigin(t *testing.T) {
	assert.Equal(t, MarkOf("n28971"), MarkOf("n32926"))
	table := NewTable(nodes(well("n28971", "g"), well("n32926", "g")), now, config(Random))
	for range 20 {
		assert.Equal(t, "n32926", picked(table.Pick(Query{Node: "n28971"}, now, seeded(t))))
	}
}
