package selection

import (
	"sync/atomic"

	"github.com/detourhq/detour/pkg/cluster"
)

// pool holds nodes that stand in for each other, ready for drawing by weight.
// The draw is the guide table method: each of as many equal stretches of the line
// of weights as there are members knows where it begins, so that a position is
// found in two steps on average (Chen and Asau, "On Generating Random Variates
// from an Empirical Distribution", 1974). A nil pool has no members.
type pool struct {
	members  []*candidate
	ends     []float64 // where each member's weight ends on the line from 0 to the sum
	guide    []int32   // the member at which each stretch begins
	fresh    cluster.Millis
	oldest   *candidate
	youngest *candidate
	turn     atomic.Uint64 // for RoundRobin; zero until the first pick
}

func (p *pool) add(c *candidate) {
	if len(p.members) == 0 {
		p.fresh, p.oldest, p.youngest = c.fresh, c, c
	}
	p.members = append(p.members, c)
	p.fresh = max(p.fresh, c.fresh)
	if c.started < p.oldest.started {
		p.oldest = c
	}
	if c.started > p.youngest.started {
		p.youngest = c
	}
}

// seal makes p ready for drawing, once all members were added.
func (p *pool) seal() {
	p.ends = make([]float64, len(p.members))
	var sum float64
	for i, c := range p.members {
		sum += c.weight
		p.ends[i] = sum
	}
	p.guide = make([]int32, len(p.members))
	at, last := 0, len(p.members)-1
	for j := range p.guide {
		for at < last && p.ends[at] <= float64(j)*p.stretch() {
			at++
		}
		p.guide[j] = int32(at)
	}
}

func (p *pool) sum() float64 { return p.ends[len(p.ends)-1] }

func (p *pool) stretch() float64 { return p.sum() / float64(len(p.ends)) }

// at returns the member at position u of the line, u ≥ 0; the last one behind its end,
// where rounding may lead.
func (p *pool) at(u float64) *candidate {
	last := len(p.members) - 1
	i := int(p.guide[min(last, int(u/p.stretch()))])
	for i > 0 && p.ends[i-1] > u { // the division above was rounded up
		i--
	}
	for i < last && p.ends[i] <= u {
		i++
	}
	return p.members[i]
}

// refusals is how many draws may fail before all members are weighed.
const refusals = 8

// draw returns a member that a allows, nil if there is none: each by the chance
// of its weight and fade beside the others'. It tries position u of the line
// first, which must be as good as drawn at random.
func (p *pool) draw(a *ask, u float64) *candidate {
	fades := p.fades(a)
	for range refusals {
		c := p.at(u)
		if a.allows(c) && (!fades || unit(a.rnd) < a.fade(c)) {
			return c
		}
		u = p.position(a.rnd)
	}
	return p.weigh(a, fades)
}

// position draws a position of the line.
func (p *pool) position(rnd Source) float64 { return unit(rnd) * p.sum() }

// weigh does what draw does, by looking at every member twice.
func (p *pool) weigh(a *ask, fades bool) (last *candidate) {
	var sum float64
	for _, c := range p.members {
		if a.allows(c) {
			sum += a.weight(c, fades)
		}
	}
	u := unit(a.rnd) * sum
	for _, c := range p.members {
		if !a.allows(c) {
			continue
		}
		last = c
		if u -= a.weight(c, fades); u < 0 {
			break
		}
	}
	return last
}
