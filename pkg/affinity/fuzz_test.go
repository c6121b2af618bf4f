package affinity_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/affinity"
)

var formats = []affinity.Format{affinity.Recognise, affinity.JVMRoute, affinity.JEUS, affinity.WebLogic, affinity.WebSphere}

// What is read of a session is a part of it behind a separator, and complete: names
// that were put together are found again, in order.
func FuzzRoutes(f *testing.F) {
	f.Add("abc.n1", "n1", "n2")
	f.Add("0000abc!-1!2!3", "", "a.b")
	f.Add("0000abc:a:b", "!", ":")
	f.Add("...", "=", "é")
	f.Fuzz(func(t *testing.T, value, first, second string) {
		for _, format := range formats {
			routes := format.AppendRoutes(nil, value)
			require.LessOrEqual(t, len(routes), affinity.MaxRoutes)
			for _, route := range routes {
				require.NotEmpty(t, route)
				at := strings.Index(value, route)
				for at >= 0 && (at == 0 || !strings.ContainsRune(".!:", rune(value[at-1]))) {
					next := strings.Index(value[at+1:], route)
					if next < 0 {
						at = -1
						break
					}
					at += 1 + next
				}
				require.Positive(t, at, "%q in %q as %q", route, value, format)
			}
		}
		if first == "" || second == "" || first == second || strings.ContainsAny(first+second, ".!:") {
			return
		}
		for format, separator := range map[affinity.Format]string{affinity.JVMRoute: ".", affinity.WebLogic: "!", affinity.WebSphere: ":"} {
			for _, f := range []affinity.Format{format, affinity.Recognise} {
				routes := f.AppendRoutes(nil, "0000id"+separator+first+separator+second)
				a, b := slices.Index(routes, first), slices.Index(routes, second)
				require.True(t, 0 <= a && a < b, "%q, %q in %q as %q", first, second, routes, f)
			}
		}
	})
}

// A cookie's value and a path's parameter are what stood there, and no more.
func FuzzFind(f *testing.F) {
	f.Add("a=1; SID=abc.n1; SID=\"x\"", "/a;sid=1/b", "SID")
	f.Add(";SID;=;SID=", ";sid=;sid=", "sid")
	f.Add("=a", "/;=", "")
	f.Fuzz(func(t *testing.T, list, path, name string) {
		for rest := list; ; {
			value, after, found := affinity.CutCookie(rest, name)
			if !found {
				break
			}
			require.Less(t, len(after), len(rest), "it comes to an end")
			require.NotContains(t, value, ";")
			require.Contains(t, rest[:len(rest)-len(after)], value)
			rest = after
		}
		p := affinity.ParameterOf(name)
		value, rest, found := p.Cut(path)
		if !found {
			require.Equal(t, path, rest)
			return
		}
		require.NotContains(t, value, "/")
		require.Contains(t, path, string(p)+value)
		require.Equal(t, strings.Replace(path, string(p)+value, "", 1), rest)
	})
}
