package cluster

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARegistryURLIsRead(t *testing.T) {
	for _, c := range []struct {
		name, url string
		want      address
	}{
		{"a host alone", "redis://h", address{hosts: []string{"h:6379"}}},
		{"TLS and a port, in capitals", "REDISS://h:1/", address{hosts: []string{"h:1"}, secure: true}},
		{"an IPv6 address", "redis://[::1]", address{hosts: []string{"[::1]:6379"}}},
		{"the highest port", "redis://h:65535", address{hosts: []string{"h:65535"}}},
		{"a password alone", "redis://:p@h", address{hosts: []string{"h:6379"}, password: "p"}},
		{"signs in the password", "redis://u:%40%2F%3F%23%25,:@h", address{hosts: []string{"h:6379"}, user: "u", password: "@/?#%,:"}},
		{"a bare @ in it", "redis://u:a@b@h", address{hosts: []string{"h:6379"}, user: "u", password: "a@b"}},
		{"a database in the path", "redis://h/2", address{hosts: []string{"h:6379"}, db: 2}},
		{"one in the query goes before it", "redis://h/2?db=3", address{hosts: []string{"h:6379"}, db: 3}},
		{"the older protocol", "redis://h?protocol=2", address{hosts: []string{"h:6379"}, protocol: 2}},
		{"any certificate", "rediss://h?skip_verify=true", address{hosts: []string{"h:6379"}, secure: true, unverified: true}},
		{"no cluster", "redis://h?cluster=false", address{hosts: []string{"h:6379"}}},
		{"a cluster", "redis://h?cluster=true", address{hosts: []string{"h:6379"}, clustered: true}},
		{"several hosts", "redis://u:p@a:1,b,[::1]:2/0?cluster=1", address{hosts: []string{"a:1", "b:6379", "[::1]:2"}, user: "u", password: "p", clustered: true}},
		{"several as go-redis writes them, one twice", "redis://a:1?addr=b:2&cluster=true&addr=a:1", address{hosts: []string{"a:1", "b:2"}, clustered: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseURL(c.url)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			assert.NoError(t, CheckURL(c.url))
		})
	}
}

func TestARegistryURLOutOfFormIsExplained(t *testing.T) {
	for _, c := range []struct{ name, url, want string }{
		{"nothing", "", "begin with redis://"},
		{"no scheme", "h:6379", "begin with redis://"},
		{"another scheme", "https://h", "begin with redis://"},
		{"no host", "rediss://", "host 1 of 1 is neither"},
		{"only a port", "redis://:6379", "host 1 of 1 is neither"},
		{"a comma too many", "redis://a,?cluster=true", "host 2 of 2 is neither"},
		{"a port that is none", "redis://h:x", "host 1 of 1 is neither"},
		{"port zero", "redis://h:0", "port of host 1 of 1"},
		{"a port too high", "redis://h:65536", "port of host 1 of 1"},
		{"a blank in the host", "redis://a b", "host 1 of 1 is neither"},
		{"a host and a user in addr", "redis://a?cluster=true&addr=u:p", "host 2 of 2 is neither"},
		{"hosts without a cluster", "redis://a,b", "add cluster=true"},
		{"addr without one", "redis://a?addr=b:1", "add cluster=true"},
		{"a cluster's database", "redis://a/1?cluster=true", "no database but 0"},
		{"a database that is none", "redis://a/x", `db="x"`},
		{"two of them", "redis://a/1/2", `db="1/2"`},
		{"one below zero", "redis://a/-1", `db="-1"`},
		{"a protocol of the future", "redis://a?protocol=4", `protocol="4"`},
		{"maybe a cluster", "redis://a?cluster=maybe", `cluster="maybe"`},
		{"an option that the profile settles", "redis://a?pool_size=9", `"pool_size" is none of addr`},
		{"options out of form", "redis://a?%zz", "options cannot be read"},
		{"a fragment", "redis://a#b", "what follows the host"},
		{"a slash in the password", "redis://u:se/cret@h", "percent-encode"},
		{"a percent sign in it", "redis://u:cret%@h", "percent-encode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckURL(c.url)
			require.ErrorIs(t, err, ErrInvalid)
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "cret")
		})
	}
}

// Whatever stands in a URL, no fault shows the password, and what passes can be
// dialled.
func FuzzCheckURL(f *testing.F) {
	for _, s := range [][2]string{
		{"redis://u:", "@h:6379/1"},
		{"rediss://:", "@a:1,b:2?cluster=true"},
		{"redis://u:", "/@h"},
		{"redis://u:", "?x@h?cluster=maybe"},
		{"redis://u:%", "@h:x"},
		{"", "@h"},
		{"redis://", "#@h,?pool_size=1"},
		{"redis://u:a@", "@h?addr=:@:"},
	} {
		f.Add(s[0], s[1])
	}
	const secret = "Zq9vXw7K"
	f.Fuzz(func(t *testing.T, before, after string) {
		if !strings.Contains(after, "@") || strings.Contains(before+after, secret) {
			return
		}
		raw := before + secret + after
		a, err := parseURL(raw)
		if err != nil {
			assert.ErrorIs(t, err, ErrInvalid)
			assert.NotContains(t, err.Error(), secret, raw)
			return
		}
		require.NotEmpty(t, a.hosts)
		for _, h := range a.hosts {
			host, port, err := net.SplitHostPort(h)
			assert.True(t, err == nil && host != "" && port != "", "%q of %q", h, raw)
		}
		assert.False(t, slices.ContainsFunc(a.hosts, func(h string) bool { return strings.Contains(h, secret) }), raw)
		client, err := Dial(raw, time.Second)
		require.NoError(t, err)
		assert.NoError(t, client.Close())
	})
}

func TestTheNameOnTheCertificate(t *testing.T) {
	a, err := parseURL("rediss://clustercfg.r.example.com:6379,192.0.2.1?cluster=true")
	require.NoError(t, err)
	for addr, want := range map[string]string{
		"clustercfg.r.example.com:6379": "clustercfg.r.example.com",
		"r-0001-001.r.example.com:6379": "r-0001-001.r.example.com",
		"192.0.2.1:6379":                "192.0.2.1",
		"192.0.2.7:6379":                "clustercfg.r.example.com",
	} {
		assert.Equal(t, want, a.serverName(addr), addr)
	}
}
