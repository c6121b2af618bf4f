package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATagTellsWhatARuleRestsOn(t *testing.T) {
	f := forwardTo(604800, blue, 999, green, 0, other, 1, detour, 10, targetGroup(strings.Repeat("n", 32), 5), 999)
	text, err := encode(f)
	require.NoError(t, err)
	assert.Equal(t, "0000000000000001=999 0000000000000002=0 0000000000000003=1 000000000000000d=10 0000000000000005=999 sticky=604800", text)
	r, err := decode(text)
	require.NoError(t, err)
	back, ok := r.forward([]string{detour, other, green, blue, f.Weights[4].TargetGroup})
	require.True(t, ok)
	assert.Equal(t, f, back)
	_, ok = r.forward([]string{detour, other, green, blue})
	assert.False(t, ok, "one is not known")
}

func TestWhatATagCannotTellIsNotWritten(t *testing.T) {
	for name, f := range map[string]Forward{
		"none":            {},
		"the same twice":  forwardTo(0, blue, 1, blue, 2),
		"a large weight":  forwardTo(0, blue, 1000),
		"a small weight":  forwardTo(0, blue, -1),
		"long stickiness": forwardTo(604801, blue, 1),
		"no id":           forwardTo(0, "targetgroup/x/", 1),
	} {
		_, err := encode(f)
		assert.ErrorIs(t, err, errTag, name)
	}
}

func TestNamesFitIntoATag(t *testing.T) {
	assert.Equal(t, "blue green", names([]string{"blue", "green"}))
	long := strings.Repeat("g", 128)
	assert.Equal(t, long+" +2", names([]string{long, long, long}))
	assert.Empty(t, names(nil))
}

// Whatever a tag says: what is read is written the same, and nothing else is read.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{
		"0000000000000001=60 0000000000000002=40 sticky=3600", "a=1 sticky=0", "sticky=1 sticky=1", "", "sticky=0", "a=01 sticky=0",
		"a=1  sticky=0", "a=1 a=2 sticky=0", "a=-1 sticky=0", "a=+1 sticky=0", "a=1000 sticky=0", "a=1 sticky=604801", "a/b=1 sticky=0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := decode(text)
		if err != nil {
			return
		}
		written, err := encode(Forward{Weights: r.weights, Sticky: r.sticky})
		if err != nil || written != text {
			t.Errorf("%q is written %q (%v)", text, written, err)
		}
		if len(r.weights) == 0 || len(r.weights) > maxTargetGroups || len(text) > maxTag {
			t.Errorf("%q is out of AWS's limits", text)
		}
	})
}
