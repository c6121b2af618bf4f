package rules

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/localaws"
)

func TestOneActionHasManyForms(t *testing.T) {
	config := func(sticky *types.TargetGroupStickinessConfig, tuples ...types.TargetGroupTuple) types.Action {
		return types.Action{Type: types.ActionTypeEnumForward, ForwardConfig: &types.ForwardActionConfig{TargetGroups: tuples, TargetGroupStickinessConfig: sticky}}
	}
	tuple := func(arn string, weight int32) types.TargetGroupTuple {
		return types.TargetGroupTuple{TargetGroupArn: &arn, Weight: &weight}
	}
	off := &types.TargetGroupStickinessConfig{Enabled: aws.Bool(false), DurationSeconds: aws.Int32(60)}
	on := &types.TargetGroupStickinessConfig{Enabled: aws.Bool(true), DurationSeconds: aws.Int32(60)}
	for _, row := range []struct {
		name string
		a, b types.Action
		same bool
	}{
		{"scalar and config", scalar(blue), config(nil, tuple(blue, 1)), true},
		{"both at once", localaws.AsRead([]types.Action{config(off, tuple(blue, 1))})[0], scalar(blue), true},
		{"a single one has any weight", config(nil, tuple(blue, 7)), scalar(blue), true},
		{"but not none", config(nil, tuple(blue, 0)), scalar(blue), false},
		{"a weight left out is one", config(nil, types.TargetGroupTuple{TargetGroupArn: &blue}, tuple(green, 1)), config(nil, tuple(blue, 1), tuple(green, 1)), true},
		{"the order is of no account", config(nil, tuple(blue, 1), tuple(green, 2)), config(nil, tuple(green, 2), tuple(blue, 1)), true},
		{"stickiness that is off", config(off, tuple(blue, 1)), config(nil, tuple(blue, 1)), true},
		{"stickiness that is on", config(on, tuple(blue, 1)), config(off, tuple(blue, 1)), false},
		{"other weights", config(nil, tuple(blue, 1), tuple(green, 2)), config(nil, tuple(blue, 2), tuple(green, 1)), false},
		{"one more at zero", config(nil, tuple(blue, 1), tuple(green, 0)), scalar(blue), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, err := forwardOf([]types.Action{row.a})
			require.NoError(t, err)
			b, err := forwardOf([]types.Action{row.b})
			require.NoError(t, err)
			assert.Equal(t, row.same, a.equal(b))
			assert.Equal(t, row.same, b.equal(a))
		})
	}
}

func TestOnlyARuleThatEndsInAForwardHasOne(t *testing.T) {
	for _, actions := range [][]types.Action{
		nil,
		{{Type: types.ActionTypeEnumForward}},
		{{Type: types.ActionTypeEnumFixedResponse}},
		{{Type: types.ActionTypeEnumRedirect, Order: aws.Int32(2)}, {Type: types.ActionTypeEnumForward, Order: aws.Int32(1), TargetGroupArn: &blue}},
	} {
		_, err := forwardOf(actions)
		require.ErrorIs(t, err, errNoForward)
	}
}

// anyForward returns up to five target groups in any order.
func anyForward(rnd *rand.Rand) Forward {
	all := []string{blue, green, other, detour, targetGroup("e", 5)}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	f := Forward{Sticky: int32(rnd.IntN(3))}
	for _, tg := range all[:1+rnd.IntN(len(all))] {
		f.Weights = append(f.Weights, Weight{tg, int32(rnd.IntN(4) * rnd.IntN(334))})
	}
	return f
}

func TestMovingKeepsWhatItMust(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		f := anyForward(rnd)
		before := slices.Clone(f.Weights)
		to := make(map[string]string)
		for _, tg := range []string{blue, green, other} {
			if rnd.IntN(2) == 0 {
				to[tg] = detour
			}
		}
		m := f.moved(to, 0)
		require.Equal(t, before, f.Weights, "the argument stays")

		var was, is int32
		for i, w := range f.Weights {
			require.Equal(t, w.TargetGroup, m.Weights[i].TargetGroup, "the order stays")
			if _, moves := to[w.TargetGroup]; moves {
				require.Zero(t, m.Weights[i].Weight)
			} else if w.TargetGroup != detour {
				require.Equal(t, w, m.Weights[i])
			}
			was += w.Weight
		}
		for _, w := range m.Weights {
			require.LessOrEqual(t, w.Weight, int32(maxWeight))
			is += w.Weight
		}
		if sum, _ := m.of(detour); sum < maxWeight {
			require.Equal(t, was, is, "no weight is lost")
		}
		require.LessOrEqual(t, len(m.Weights), len(f.Weights)+1)

		empty := f.emptied(m)
		require.True(t, f.isMoved(m, empty, to), "%v by %v", f, to)
		require.True(t, f.couldBeMoved(m))
		m.Weights = slices.Clone(m.Weights)
		i := rnd.IntN(len(m.Weights))
		m.Weights[i].Weight++ // somebody else
		require.Equal(t, len(m.Weights) == 1 && m.Weights[0].Weight > 1, f.isMoved(m, f.emptied(m), to), "%v is not %v", m, f)
	}
}
