package localalb

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixed is a rule that answers its own name.
func fixed(name string, priority int, conds ...Condition) Rule {
	return Rule{Name: name, Priority: priority, Conditions: conds, Action: FixedResponse{Status: 200, Body: name}}
}

func TestTheFirstRuleByPriorityApplies(t *testing.T) {
	f := serve(t, Config{})
	_, body := f.get("/shop")
	assert.Equal(t, "", body, "the default rule of a new load balancer")
	assert.Equal(t, 503, f.record().Status)

	require.NoError(t, f.SetDefault(FixedResponse{Status: 404, Body: "nobody"}))
	require.NoError(t, f.SetRule(fixed("all", 50000, PathPattern("/*"))))
	require.NoError(t, f.SetRule(fixed("shop", 20, PathPattern("/shop"))))
	require.NoError(t, f.SetRule(fixed("blue shop", 3, PathPattern("/shop"), QueryString(Pair{"color", "blue"}))))
	for target, want := range map[string]string{"/shop?color=blue": "blue shop", "/shop": "shop", "/": "all"} {
		_, body := f.get(target)
		assert.Equal(t, want, body)
		assert.Equal(t, want, f.record().Rule)
	}

	require.NoError(t, f.SetRule(fixed("blue shop", 30, PathPattern("/shop"))))
	_, body = f.get("/shop?color=blue")
	assert.Equal(t, "shop", body, "the rule was replaced and moved behind")
	require.NoError(t, f.RemoveRule("all"))
	res, body := f.get("/")
	assert.Equal(t, "nobody", body)
	assert.Equal(t, 404, res.StatusCode)
	var names []string
	for _, r := range f.Rules() {
		names = append(names, r.Name)
	}
	assert.Equal(t, []string{"shop", "blue shop", DefaultRule}, names)
}

func TestRefusedChangesChangeNothing(t *testing.T) {
	lb, err := New(Config{})
	require.NoError(t, err)
	require.NoError(t, lb.AddLambdaGroup("detour", LambdaGroup{}))
	require.NoError(t, lb.SetRule(Rule{Name: "app", Priority: 1, Conditions: []Condition{PathPattern("/*")}, Action: Forward{"detour": 1}}))
	require.NoError(t, lb.SetRule(fixed("fixed", 2, PathPattern("/"))))
	before := lb.Rules()
	many := Forward{}
	for i := range 6 {
		many[fmt.Sprint(i)] = 1
	}
	cond := []Condition{PathPattern("/")}
	for _, tc := range []struct {
		name string
		do   func() error
		is   error // nil for any
	}{
		{"a priority in use", func() error { return lb.SetRule(fixed("new", 1, cond...)) }, ErrPriorityInUse},
		{"priority 0", func() error { return lb.SetRule(fixed("new", 0, cond...)) }, nil},
		{"priority 50001", func() error { return lb.SetRule(fixed("new", 50001, cond...)) }, nil},
		{"no name", func() error { return lb.SetRule(fixed("", 3, cond...)) }, nil},
		{"no action", func() error { return lb.SetRule(Rule{Name: "new", Priority: 3, Conditions: cond}) }, nil},
		{"a default rule with a condition", func() error { return lb.SetRule(fixed(DefaultRule, 0, cond...)) }, nil},
		{"a default rule with a priority", func() error { return lb.SetRule(fixed(DefaultRule, 3)) }, nil},
		{"an unknown group", func() error { return lb.SetDefault(Forward{"none": 1}) }, ErrTargetGroupNotFound},
		{"no group", func() error { return lb.SetDefault(Forward{}) }, nil},
		{"six groups", func() error { return lb.SetDefault(many) }, nil},
		{"weight -1", func() error { return lb.SetWeights("app", map[string]int{"detour": -1}) }, nil},
		{"weight 1000", func() error { return lb.SetWeights("app", map[string]int{"detour": 1000}) }, nil},
		{"weights of an unknown group", func() error { return lb.SetWeights("app", map[string]int{"none": 1}) }, ErrTargetGroupNotFound},
		{"weights of an unknown rule", func() error { return lb.SetWeights("none", map[string]int{"detour": 1}) }, ErrRuleNotFound},
		{"weights of a rule that does not forward", func() error { return lb.SetWeights("fixed", map[string]int{"detour": 1}) }, nil},
		{"removing an unknown rule", func() error { return lb.RemoveRule("none") }, ErrRuleNotFound},
		{"removing the default rule", func() error { return lb.RemoveRule(DefaultRule) }, ErrRuleNotFound},
		{"a group of the same name", func() error { return lb.AddLambdaGroup("detour", LambdaGroup{}) }, ErrTargetGroupExists},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.do()
			require.Error(t, err)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			assert.Equal(t, before, lb.Rules())
		})
	}
	require.NoError(t, lb.SetWeights("app", map[string]int{"detour": 999}))
}

func TestAHundredRulesAndTheDefault(t *testing.T) {
	lb, err := New(Config{})
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, lb.SetRule(fixed(fmt.Sprint(i), i+1, PathPattern("/"))))
	}
	require.ErrorIs(t, lb.SetRule(fixed("one more", 101, PathPattern("/"))), ErrTooManyRules)
	require.NoError(t, lb.SetRule(fixed("7", 101, PathPattern("/"))), "replacing one is no addition")
	require.NoError(t, lb.SetDefault(FixedResponse{Status: 404}))
}

func TestActionLimits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		action Action
		ok     bool
	}{
		{"fixed 200", FixedResponse{Status: 200}, true},
		{"fixed 599", FixedResponse{Status: 599}, true},
		{"fixed 199", FixedResponse{Status: 199}, false},
		{"fixed 307", FixedResponse{Status: 307}, false},
		{"fixed 600", FixedResponse{Status: 600}, false},
		{"a body of 1024 bytes", FixedResponse{Status: 200, Body: string(make([]byte, 1024))}, true},
		{"a longer body", FixedResponse{Status: 200, Body: string(make([]byte, 1025))}, false},
		{"JSON", FixedResponse{Status: 200, ContentType: "application/json"}, true},
		{"an image", FixedResponse{Status: 200, ContentType: "image/png"}, false},
		{"redirect 301", Redirect{Status: 301, Host: "b.example"}, true},
		{"redirect 302", Redirect{Status: 302, Port: "65535"}, true},
		{"redirect 307", Redirect{Status: 307, Host: "b.example"}, false},
		{"redirect 308", Redirect{Status: 308, Host: "b.example"}, false},
		{"redirect to itself", Redirect{Status: 302, Query: "a=1"}, false},
		{"redirect to itself in other words", Redirect{Status: 302, Path: "/#{path}"}, false},
		{"redirect to ftp", Redirect{Status: 302, Protocol: "FTP"}, false},
		{"redirect to port 0", Redirect{Status: 302, Port: "0"}, false},
		{"redirect to a relative path", Redirect{Status: 302, Path: "x"}, false},
		{"a component of 129 bytes", Redirect{Status: 302, Host: "b.example", Query: string(make([]byte, 129))}, false},
	} {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.ok, tc.action.check() == nil) })
	}
}

func TestRedirectAndFixedResponse(t *testing.T) {
	f := serve(t, Config{Port: 80})
	for _, tc := range []struct {
		name     string
		action   Action
		target   string
		status   int
		location string
		kind     string
	}{
		{"to HTTPS", Redirect{Status: 301, Protocol: "HTTPS", Port: "443"}, "/a%2Fb?c=%20d", 301, "https://app.example.com:443/a%2Fb?c=%20d", "text/html"},
		{"no query, no question mark", Redirect{Status: 302, Host: "b.example"}, "/a", 302, "http://b.example:80/a", "text/html"},
		{"words inside components", Redirect{Status: 302, Host: "x.#{host}", Path: "/old/#{path}", Query: "#{query}&from=#{port}"}, "/a?b", 302, "http://x.app.example.com:80/old/a?b&from=80", "text/html"},
		{"fixed", FixedResponse{Status: 418, ContentType: "application/json", Body: "{}"}, "/", 418, "", "application/json"},
		{"fixed of no type", FixedResponse{Status: 200}, "/", 200, "", "text/plain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, f.SetDefault(tc.action))
			res, _ := f.get(tc.target)
			assert.Equal(t, tc.status, res.StatusCode)
			assert.Equal(t, tc.location, res.Header.Get("Location"))
			assert.Equal(t, tc.kind, res.Header.Get("Content-Type"))
			assert.Equal(t, "awselb/2.0", res.Header.Get("Server"))
		})
	}
}

func TestWeights(t *testing.T) {
	f := Forward{"blue": 3, "detour": 0, "green": 1}
	var got []string
	for n := range 4 {
		name, ok := f.pick(func(total int) int {
			assert.Equal(t, 4, total)
			return n
		})
		assert.True(t, ok)
		got = append(got, name)
	}
	assert.Equal(t, []string{"blue", "blue", "blue", "green"}, got)
	_, ok := Forward{"blue": 0}.pick(func(int) int { return 0 })
	assert.False(t, ok)
}

// TestPauseAndResume switches a rule from a group to a function and back while
// clients send requests: each is answered by the one or the other, and those
// sent after a switch only by the one it switched to.
func TestPauseAndResume(t *testing.T) {
	f := serve(t, Config{})
	require.NoError(t, f.AddHTTPGroup("blue", HTTPGroup{}))
	require.NoError(t, f.Register("blue", backend(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "blue") })))
	require.NoError(t, f.AddLambdaGroup("detour", LambdaGroup{Function: says(`{"statusCode":200,"body":"detour"}`)}))
	app := Rule{Name: "app", Priority: 1, Conditions: []Condition{PathPattern("/*")}, Action: Forward{"blue": 100, "detour": 0}}
	require.NoError(t, f.SetRule(app))

	done := make(chan struct{})
	var clients sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{}}
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					assert.Contains(t, []string{"blue", "detour"}, fetch(t, client, f.URL()))
				}
			}
		})
	}
	for i := range 20 {
		to := []string{"detour", "blue"}[i%2]
		weights := map[string]int{"blue": 0, "detour": 0}
		weights[to] = 100
		require.NoError(t, f.SetWeights("app", weights))
		for range 3 {
			assert.Equal(t, to, fetch(t, client, f.URL()))
		}
	}
	close(done)
	clients.Wait()
	client.CloseIdleConnections()

	require.NoError(t, f.SetWeights("app", map[string]int{"blue": 0, "detour": 0}))
	res, body := f.get("/")
	assert.Equal(t, 503, res.StatusCode)
	assert.Equal(t, page(503), body)
}

// fetch returns the body of a GET, or what went wrong.
func fetch(t *testing.T, client *http.Client, url string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	res, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}
