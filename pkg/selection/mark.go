package selection

// Mark is a short hash of a node's id by which a URL remembers that the node was
// visited. It has 30 bits: six characters of base 36. Two ids share one by a chance
// of 2⁻³⁰, and then the worst is that a node which was not visited is passed over.
type Mark uint32

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
	markBits  = 30
)

// MarkOf returns the mark of the node called id: FNV-1a with 64 bits, folded by
// exclusive or (RFC 9923 §3). It travels in URLs and therefore never changes.
func MarkOf(id string) Mark {
	h := uint64(fnvOffset)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * fnvPrime
	}
	return Mark((h>>markBits ^ h) & (1<<markBits - 1))
}
