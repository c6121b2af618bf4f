package selection

import "github.com/detourhq/detour/pkg/cluster"

// minFade is the least part of its weight that a new node takes: never nothing,
// or it would not warm up (Envoy, SlowStartConfig.min_weight_percent, default 10 %).
const minFade = 0.1

// fadeAt returns the part of its weight, from minFade to 1, that a node started at
// started takes at now while new nodes fade in over fadeIn milliseconds. It grows
// with age by a straight line. Started zero or less is long ago; the future is now.
func fadeAt(started, now, fadeIn cluster.Millis) float64 {
	if !isYoung(started, now, fadeIn) {
		return 1
	}
	return max(minFade, float64(now-started)/float64(fadeIn))
}

// isYoung reports whether a node started at started is still fading in at now. A
// node that is exactly fadeIn old is not, and none is where fadeIn is zero.
func isYoung(started, now, fadeIn cluster.Millis) bool {
	return started > 0 && max(0, now-started) < fadeIn
}

// fades reports whether the young members take less than their weight: only while
// an older one that may be picked takes up the rest. Where all are new, all are equal.
func (p *pool) fades(a *ask) bool {
	if !a.isYoung(p.youngest) || a.isYoung(p.oldest) {
		return false
	}
	if a.allows(p.oldest) {
		return true
	}
	for _, c := range p.members {
		if !a.isYoung(c) && a.allows(c) {
			return true
		}
	}
	return false
}
