package selection

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// hashOf returns the first 8 bytes of SHA-256. Not hash/maphash: every copy of the
// function, of any version, must come to the same node.
func hashOf(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:])
}

// rendezvous returns the member that a allows with the highest score for a's key,
// nil if there is none. Fade does not count: a client would change nodes with time.
//
// Weighted highest random weight hashing: the score is -weight / ln(u), where u is
// a number of (0, 1) made of key and node (Schindelhauer and Schomaker, "Weighted
// Distributed Hash Tables", SPAA 2005, the logarithmic method).
func (p *pool) rendezvous(a *ask) (best *candidate) {
	var highest float64
	for _, c := range p.members {
		if !a.allows(c) {
			continue
		}
		if score := -c.weight / math.Log(fraction(mix(a.key^c.hash))); best == nil || score > highest {
			best, highest = c, score
		}
	}
	return best
}

// mix is the output function of SplitMix64 (Steele, Lea and Flood, "Fast Splittable
// Pseudorandom Number Generators", 2014): each bit of x moves every bit of the result.
func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fraction returns the middle of one of 2⁵² equal parts of (0, 1): never 0 or 1,
// whose logarithms have no use.
func fraction(x uint64) float64 { return (float64(x>>12) + 0.5) * 0x1p-52 }
