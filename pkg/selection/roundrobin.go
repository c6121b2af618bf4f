package selection

// golden is 2⁶⁴ divided by the golden ratio: its multiples, taken as fractions of
// 2⁶⁴, spread most evenly (Knuth, TAOCP 3, §6.4).
const golden = 0x9e3779b97f4a7c15

// nextTurn returns the position of the line whose turn it is. A cycle of as many
// turns as there are members takes one position from each stretch, and the next
// cycle lies a golden section further: nodes of equal weight come one after the
// other, and any others as often as their weight asks. The first turn is drawn, so
// that fresh copies do not all begin at the same node.
func (p *pool) nextTurn(rnd Source) float64 {
	if p.turn.Load() == 0 {
		p.turn.CompareAndSwap(0, rnd.Uint64())
	}
	turn, n := p.turn.Add(1), uint64(len(p.members))
	cycle := turn / n
	within := float64(cycle*golden>>11) * 0x1p-53
	return (float64(turn%n) + within) * p.stretch()
}
