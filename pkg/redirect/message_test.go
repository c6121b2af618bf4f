package redirect

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHeader(t *testing.T) {
	h := Header{{"host", "a"}, {"X-Forwarded-For", "1"}, {"x-forwarded-for", "2"}}
	for _, row := range []struct{ name, first string }{
		{"Host", "a"},
		{"HOST", "a"},
		{"X-Forwarded-For", "1"},
		{"Hosts", ""},
		{"Hosu", ""},
		{"", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.first, h.Get(row.name))
		})
	}
	assert.False(t, equalFold("[", "{"), "only letters have a case")
	assert.False(t, equalFold("@", "`"))
}

func TestHostName(t *testing.T) {
	for _, row := range []struct{ host, want string }{
		{"a.example.com", "a.example.com"},
		{"A.Example.COM:8443", "a.example.com"},
		{"a.example.com.", "a.example.com"},
		{"a.example.com.:443", "a.example.com"},
		{"[2001:DB8::1]:443", "[2001:db8::1]"},
		{"[2001:db8::1]", "[2001:db8::1]"},
		{"", ""},
	} {
		assert.Equal(t, row.want, hostName(row.host))
	}
}

// The right-most address is the one that the load balancer itself saw.
func TestWhoTheClientIs(t *testing.T) {
	for _, row := range []struct {
		name   string
		fields []string
		want   string
	}{
		{"nobody", nil, ""},
		{"one", []string{"x-forwarded-for: 192.0.2.7"}, "192.0.2.7"},
		{"one who calls himself another", []string{"X-Forwarded-For: 198.51.100.1, 192.0.2.7"}, "192.0.2.7"},
		{"one who calls himself two others", []string{"x-forwarded-for: 198.51.100.1,198.51.100.2,192.0.2.7"}, "192.0.2.7"},
		{"in two fields", []string{"x-forwarded-for: 198.51.100.1", "x-forwarded-for: 192.0.2.7"}, "192.0.2.7"},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := question{view: newView(nodes(), now, &Config{}), req: get("/", row.fields...), now: now}
			q.understand()
			assert.Equal(t, row.want, q.query().Key)
		})
	}
}
