package selection

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// isAbove says by the book whether context is a whole-segment prefix of path.
func isAbove(context, path string) bool {
	if context == "/" || context == path {
		return strings.HasPrefix(context, "/")
	}
	return strings.HasPrefix(context, "/") && strings.HasPrefix(path, context+"/")
}

func longestAbove(contexts []string, path string) string {
	longest := ""
	for _, c := range contexts {
		if isAbove(c, path) && len(c) > len(longest) {
			longest = c
		}
	}
	return longest
}

func TestTheLongestContextAboveThePathCounts(t *testing.T) {
	all := []string{"/", "/shop", "/shop/cart", "/a%2Fb", "/ä"}
	for _, c := range []struct {
		name     string
		contexts []string
		path     string
		want     string
	}{
		{"the context itself", all, "/shop", "/shop"},
		{"with a slash after it", all, "/shop/", "/shop"},
		{"a page below it", all, "/shop/list", "/shop"},
		{"the longer of two", all, "/shop/cart/1", "/shop/cart"},
		{"a longer word is another segment", all, "/shopping", "/"},
		{"so is a longer word in the second segment", all, "/shop/cartoon", "/shop"},
		{"a parameter belongs to the segment", all, "/shop;jsessionid=1", "/"},
		{"letter case counts", all, "/Shop", "/"},
		{"an encoded slash is no slash", all, "/a%2Fb/c", "/a%2Fb"},
		{"and is not decoded", all, "/a/b/c", "/"},
		{"other encodings are not the same either", all, "/%C3%A4", "/"},
		{"bytes above 127 are compared as they are", all, "/ä/x", "/ä"},
		{"two slashes make an empty segment", all, "//shop", "/"},
		{"the root is above all", []string{"/"}, "/x/y", "/"},
		{"and above itself", []string{"/"}, "/", "/"},
		{"and above the asterisk of OPTIONS", []string{"/"}, "*", "/"},
		{"and above nothing", []string{"/"}, "", "/"},
		{"none is above", []string{"/shop"}, "/blog", ""},
		{"the path is shorter", []string{"/shop"}, "/sho", ""},
		{"there are no contexts", nil, "/", ""},
		{"a context out of form is never above", []string{"shop", ""}, "shop/x", ""},
	} {
		var s contextSet
		for _, context := range c.contexts {
			s.add(context)
		}
		assert.Equal(t, c.want, s.match(c.path), c.name)
		assert.Equal(t, c.want, longestAbove(c.contexts, c.path), "by the book: %s", c.name)
	}
}

// A client chooses the path: one of 64 KiB must not cost more than a short one.
func TestALongPathIsCutToTheLongestContext(t *testing.T) {
	var s contextSet
	s.add("/shop")
	path := strings.Repeat("/a", 1<<15)
	begin := time.Now()
	for range 100 {
		assert.Empty(t, s.match(path))
	}
	assert.Less(t, time.Since(begin), time.Second, "uncut it takes over 10 s")
}

func FuzzContextMatch(f *testing.F) {
	f.Add("/shop/cart", "/shop", "/shop/cart", "/")
	f.Add("/shopping", "/shop", "/", "/shopping/x")
	f.Add("//", "/", "//", "/a")
	f.Add("/a/", "/a/", "/a", "")
	f.Add("", "", "a", "/")
	f.Fuzz(func(t *testing.T, path, a, b, c string) {
		var s contextSet
		for _, context := range []string{a, b, c} {
			s.add(context)
		}
		if got, want := s.match(path), longestAbove([]string{a, b, c}, path); got != want {
			t.Errorf("path %q, contexts %q: got %q, want %q", path, []string{a, b, c}, got, want)
		}
	})
}
