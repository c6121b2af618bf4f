package rules

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

// both is a rule that rests on two groups.
func both() Forward { return forwardTo(3600, blue, 60, green, 40) }

func TestARuleIsMovedAndPutBackExactly(t *testing.T) {
	w := newWorld(t, action(both()))
	assert.Equal(t, Resting, w.state(Options{}).State)
	assert.Empty(t, w.aws.Writes, "nothing is paused")

	w.pause("blue", cluster.Redirect)
	st := w.state(Options{})
	assert.Equal(t, Moved, st.State)
	assert.Equal(t, Resting, st.Was)
	assert.Equal(t, []string{"blue", "green"}, st.Groups)
	assert.Equal(t, &Change{both(), forwardTo(0, blue, 0, green, 40, detour, 60)}, st.Change)
	w.is(forwardTo(0, blue, 0, green, 40, detour, 60), claim("blue", "0000000000000001=60 0000000000000002=40 sticky=3600"))
	assert.Equal(t, []string{"AddTags " + front, "ModifyRule " + front}, w.aws.Writes)

	st = w.state(Options{})
	assert.Equal(t, Moved, st.State)
	assert.Equal(t, Moved, st.Was)
	assert.Len(t, w.aws.Writes, 2, "it is as it should be")

	w.resume("blue")
	assert.Equal(t, Resting, w.state(Options{}).State)
	w.is(both(), nil)
	assert.Empty(t, w.memory)
	assert.Equal(t, "RemoveTags "+front, w.aws.Writes[3])
	w.pass(Options{})
	assert.Len(t, w.aws.Writes, 4)
}
