package redirect

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// globalSource is the process's own generator, safe for concurrent use.
type globalSource struct{}

func (globalSource) Uint64() uint64 { return rand.Uint64() }

// A redirector is shared by all requests of a process while snapshots follow one
// another.
func TestConcurrentDecisions(t *testing.T) {
	r := New(config(), globalSource{})
	blue := nodes(well("n1", "blue"), well("n2", "blue", at("http://n2.example.com")))
	green := paused(nodes(well("n3", "green")), "node:n3", time.Second)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 200 {
				d := r.Decide(get("/", "x-forwarded-proto: https"), blue, now)
				assert.Equal(t, "https://n1.example.com/", led(d))
				later := time.Duration(i%2) * time.Second
				assert.Equal(t, i%2 == 1, r.Decide(get("/"), green, now.Add(later)).Status == 307)
			}
		})
	}
	all.Wait()
}
