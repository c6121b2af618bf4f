package redirect

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

// fleet returns n well nodes in two groups, the first of them paused.
func fleet(n int) *cluster.Snapshot {
	s := grouped(nodes(),
		cluster.Group{ID: "blue", DetourTargetGroup: targetARN + "blue-detour/0123456789abcdef", Fallbacks: []string{"green"}},
		cluster.Group{ID: "green"})
	for i := range n {
		group := [...]string{"blue", "green"}[i%2]
		s.Nodes = append(s.Nodes, well(fmt.Sprintf("n%05d", i), group))
	}
	return paused(s, "group:blue", 0)
}

// typical is a browser's request as a load balancer passes it on.
func typical() *Request {
	return through("blue-detour", get("/shop/cart?item=42&color=dark%20blue",
		"accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		"accept-encoding: gzip, deflate, br, zstd",
		"accept-language: en-GB,en;q=0.5",
		"connection: keep-alive",
		"cookie: JSESSIONID=0123456789ABCDEF0123456789ABCDEF.n00002; theme=dark; consent=yes",
		"host: app.example.com",
		"referer: https://app.example.com/shop",
		"sec-fetch-dest: document",
		"sec-fetch-mode: navigate",
		"sec-fetch-site: same-origin",
		"upgrade-insecure-requests: 1",
		"user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
		"x-amzn-trace-id: Root=1-67891233-abcdef012345678912345678",
		"x-forwarded-for: 192.0.2.7",
		"x-forwarded-port: 443",
		"x-forwarded-proto: https"))
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			r, s, req := New(config(), rand.New(rand.NewPCG(1, 2))), fleet(n), typical()
			r.Decide(req, s, now) // builds the table
			b.ReportAllocs()
			for b.Loop() {
				if d := r.Decide(req, s, now); d.Outcome != Redirected {
					b.Fatal(d.Outcome)
				}
			}
		})
	}
}

func TestARedirectAllocatesLittle(t *testing.T) {
	r, s, req := redirector(), fleet(100), typical()
	allocs := testing.AllocsPerRun(100, func() { r.Decide(req, s, now) })
	assert.LessOrEqual(t, allocs, 4.0)
}
