package redirect

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheClientIsWhomTheLoadBalancerSaw(t *testing.T) {
	for name, c := range map[string]struct {
		header Header
		want   string
	}{
		"nobody says":                         {nil, ""},
		"one address":                         {Header{{"x-forwarded-for", "192.0.2.1"}}, "192.0.2.1"},
		"the last of several":                 {Header{{"X-Forwarded-For", "198.51.100.9, 192.0.2.1"}}, "192.0.2.1"},
		"the last of several fields":          {Header{{"X-Forwarded-For", "198.51.100.9"}, {"X-Forwarded-For", "192.0.2.1"}}, "192.0.2.1"},
		"its port is not its name":            {Header{{"X-Forwarded-For", "192.0.2.1:50412"}}, "192.0.2.1"},
		"an address of IPv6":                  {Header{{"X-Forwarded-For", "2001:db8::1"}}, "2001:db8::1"},
		"an address of IPv6 with a port":      {Header{{"X-Forwarded-For", "[2001:db8::1]:50412"}}, "2001:db8::1"},
		"an address of IPv6 that holds one":   {Header{{"X-Forwarded-For", "::ffff:192.0.2.1"}}, "::ffff:192.0.2.1"},
		"a list that ends in nothing":         {Header{{"X-Forwarded-For", "192.0.2.1,"}}, ""},
		"a bracket that is never closed":      {Header{{"X-Forwarded-For", "[2001:db8::1"}}, "2001:db8::1"},
		"another field with the same letters": {Header{{"X-Forwarded-Fox", "192.0.2.1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Header: c.header}
			assert.Equal(t, c.want, r.Client())
		})
	}
}
