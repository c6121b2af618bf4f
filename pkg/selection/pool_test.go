package selection

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func poolOf(weights ...float64) *pool {
	p := new(pool)
	for _, w := range weights {
		w, _ := share(w)
		p.add(&candidate{weight: w})
	}
	p.seal()
	return p
}

func (p *pool) indexAt(u float64) int {
	for i, c := range p.members {
		if c == p.at(u) {
			return i
		}
	}
	return -1
}

func TestAPositionBelongsToTheMemberWhoseWeightCoversIt(t *testing.T) {
	p := poolOf(1, 1, 2, 0.5)
	for u, want := range map[float64]int{
		0: 0, math.Nextafter(1, 0): 0,
		1: 1, math.Nextafter(2, 0): 1,
		2: 2, math.Nextafter(4, 0): 2,
		4: 3, math.Nextafter(4.5, 0): 3,
	} {
		assert.Equal(t, want, p.indexAt(u), u)
	}
}

// Whatever the weights, the guide leads to where a plain search would.
func TestTheGuideAgreesWithAPlainSearch(t *testing.T) {
	rnd := seeded(t)
	for range 300 {
		var weights []float64
		for range 1 + rnd.IntN(20) {
			weights = append(weights, oneOf(rnd, 1, 100, rnd.Float64(), math.Pow(10, float64(rnd.IntN(30)-20)), 3*math.SmallestNonzeroFloat64))
		}
		p := poolOf(weights...)
		for range 50 {
			u := p.position(rnd)
			want := 0
			for want < len(weights)-1 && p.ends[want] <= u {
				want++
			}
			assert.Equalf(t, want, p.indexAt(u), "weights %v, position %v", weights, u)
		}
	}
}

// The length of a stretch is rounded to the next number, half as long again.
func TestTheLeastWeightsMakeAPoolToo(t *testing.T) {
	const least = math.SmallestNonzeroFloat64
	for _, weights := range [][]float64{{least}, {least, 2 * least}, {4 * least, least, least, least, least}, {least, least, least, least, 4 * least}} {
		p := poolOf(weights...)
		for _, draw := range []Source{constant(0), constant(1 << 63), constant(math.MaxUint64)} {
			assert.NotNil(t, p.at(p.position(draw)))
		}
	}
}
