package redirect

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/cluster"
)

func TestRetryAfter(t *testing.T) {
	fleet := func() *cluster.Snapshot {
		return grouped(nodes(well("b1", "blue", status(cluster.Paused)), well("s1", "shop", status(cluster.Paused))),
			cluster.Group{ID: "shop", Service: "shop"})
	}
	for _, row := range []struct {
		name  string
		s     *cluster.Snapshot
		usual time.Duration
		want  string
	}{
		{"no pause", fleet(), 5 * time.Second, "5"},
		{"a pause without end", paused(fleet(), "group:blue", 0), 5 * time.Second, "5"},
		{"a pause of the group", paused(fleet(), "group:blue", 20*time.Second), 5 * time.Second, "20"},
		{"a pause of a node", paused(fleet(), "node:b1", 20*time.Second), 5 * time.Second, "20"},
		{"a pause of a context", paused(fleet(), "context:b1/x", 20*time.Second), 5 * time.Second, "20"},
		{"a pause of all", paused(fleet(), "all", 20*time.Second), 5 * time.Second, "20"},
		{"the earliest of several", paused(paused(paused(fleet(), "all", 30*time.Second), "group:blue", 20*time.Second), "node:b1", 40*time.Second), 5 * time.Second, "20"},
		{"a pause of another service", paused(fleet(), "group:shop", 2*time.Second), 5 * time.Second, "5"},
		{"a pause of another service's node", paused(fleet(), "node:s1", 2*time.Second), 5 * time.Second, "5"},
		{"a pause of an unknown node", paused(fleet(), "node:b9", 2*time.Second), 5 * time.Second, "5"},
		{"a pause that has ended", paused(fleet(), "group:blue", -time.Second), 5 * time.Second, "5"},
		{"a pause that ends now", paused(fleet(), "group:blue", time.Nanosecond), 5 * time.Second, "5"},
		{"a pause that ends at once", paused(fleet(), "group:blue", time.Millisecond), 5 * time.Second, "1"},
		{"a pause that ends in a second", paused(fleet(), "group:blue", time.Second), 5 * time.Second, "1"},
		{"a pause that ends a moment later", paused(fleet(), "group:blue", time.Second+time.Millisecond), 5 * time.Second, "2"},
		{"a pause that ends within a minute", paused(fleet(), "group:blue", time.Minute-time.Millisecond), 5 * time.Second, "60"},
		{"a pause that ends in over a minute", paused(fleet(), "group:blue", time.Hour), 5 * time.Second, "60"},
		{"a default of nothing", fleet(), 0, "1"},
		{"a default of less than a second", fleet(), time.Millisecond, "1"},
		{"a default of a second and a half", fleet(), 1500 * time.Millisecond, "2"},
		{"a default of two minutes", fleet(), 2 * time.Minute, "120"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := redirector(rules("tg=blue"), func(c *Config) { c.RetryAfter = row.usual })
			d := answer(r, through("tg", get("/")), row.s, now)
			require.Equal(t, 503, d.Status)
			assert.Equal(t, Unavailable, d.Outcome)
			assert.Equal(t, "blue", d.Origin)
			assert.NotEmpty(t, d.Reason)
			assert.Equal(t, row.want, d.Header.Get("Retry-After"))
			assert.Equal(t, "no-store", d.Header.Get("Cache-Control"))
		})
	}
}

func TestProblemsAreToldAsTheClientLikes(t *testing.T) {
	for _, row := range []struct {
		name, accept string
		html         bool
	}{
		{"no wish", "", false},
		{"anything", "*/*", false},
		{"a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
		{"HTML in capitals", "Text/HTML", true},
		{"a script", "application/json, text/plain, */*", false},
		{"a problem", "application/problem+json", false},
		{"JSON named first", "application/json, text/html", false},
		{"HTML named first", "text/html, application/json", true},
		{"JSON liked better", "text/html;q=0.5, application/json;q=0.9", false},
		{"HTML liked better", "application/json;q=0.5, text/html; level=1; q=0.9", true},
		{"HTML not at all", "text/html;q=0", false},
		{"HTML with a quality that is none", "text/html;q=high", false},
		{"images", "image/avif,image/*", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var fields []string
			if row.accept != "" {
				fields = append(fields, "accept: "+row.accept)
			}
			d := answer(redirector(), get("/", fields...), nodes(), now)
			require.Equal(t, 503, d.Status)
			if row.html {
				assert.Equal(t, "text/html; charset=utf-8", d.Header.Get("Content-Type"))
				assert.Contains(t, d.Body, `<meta http-equiv="refresh" content="5">`)
				assert.Contains(t, d.Body, "<h1>Service Unavailable</h1>")
			} else {
				assert.Equal(t, "application/problem+json", d.Header.Get("Content-Type"))
				var problem struct {
					Type, Title, Detail string
					Status              int
				}
				require.NoError(t, json.Unmarshal([]byte(d.Body), &problem))
				assert.Equal(t, "about:blank", problem.Type)
				assert.Equal(t, "Service Unavailable", problem.Title)
				assert.Equal(t, 503, problem.Status)
				assert.Equal(t, d.Reason, problem.Detail)
			}
			head := answer(redirector(), request("HEAD", "/", fields...), nodes(), now)
			assert.Empty(t, head.Body)
			assert.Equal(t, d.Header, head.Header)
		})
	}
}

func TestLost(t *testing.T) {
	r := redirector(func(c *Config) { c.RetryAfter = 7 * time.Second })
	for _, row := range []struct {
		name    string
		req     *Request
		outcome Outcome
		retry   string
		body    string
	}{
		{"a request", get("/a"), Unavailable, "7", "temporarily unavailable"},
		{"a browser's request", get("/a", "accept: text/html"), Unavailable, "7", `content="7"`},
		{"a HEAD", request("HEAD", "/a"), Unavailable, "7", ""},
		{"a deep health check", get("/_health?deep"), Health, "", `{"status":"registry lost"}`},
		{"a load balancer's health check", get("/", checker), Health, "", `{"status":"registry lost"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := r.Lost(row.req, "no registry")
			assert.Equal(t, 503, d.Status)
			assert.Equal(t, row.outcome, d.Outcome)
			assert.Equal(t, row.retry, d.Header.Get("Retry-After"))
			assert.Contains(t, d.Body, row.body)
			assert.Equal(t, row.req.Method == "HEAD", d.Body == "")
			if row.outcome == Unavailable {
				assert.Equal(t, "no registry", d.Reason)
				assert.NotContains(t, d.Body, "no registry", "the cause is not the client's")
			}
		})
	}
	d := r.Lost(get("/", "origin: https://page.example"), "")
	assert.Equal(t, "*", d.Header.Get("Access-Control-Allow-Origin"))
}

// The same redirector follows one snapshot after the other, and time.
func TestPausesStartAndEnd(t *testing.T) {
	r := redirector()
	well := nodes(well("n1", "blue"))
	half := paused(nodes(well.Nodes...), "node:n1", time.Second)
	assert.Equal(t, 307, answer(r, get("/"), well, now).Status)
	assert.Equal(t, 503, answer(r, get("/"), half, now).Status)
	assert.Equal(t, 503, answer(r, get("/"), half, now.Add(time.Second)-1).Status)
	assert.Equal(t, 307, answer(r, get("/"), half, now.Add(time.Second)).Status)
	assert.Equal(t, 503, answer(r, get("/"), half, now).Status, "the clock stepped back")
	assert.Equal(t, 307, answer(r, get("/"), well, now).Status)
}
