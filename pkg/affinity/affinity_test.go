package affinity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/pkg/affinity"
)

func TestTheNamesInASession(t *testing.T) {
	for _, c := range []struct {
		name   string
		format affinity.Format
		value  string
		want   string
	}{
		{"Tomcat's route", affinity.JVMRoute, "0123ABCD.n1", "n1"},
		{"ranked routes (UNDERTOW-1432)", affinity.JVMRoute, "abc.n1.n2.n3", "n1.n2.n3 n1 n2.n3 n2 n3"},
		{"a route that holds dots, or an id that does", affinity.JVMRoute, "abc.n1.example", "n1.example n1 example"},
		{"no dot", affinity.JVMRoute, "abc", ""},
		{"nothing after the dot", affinity.JVMRoute, "abc.", ""},
		{"nothing between two dots", affinity.JVMRoute, "abc..n1", ".n1 n1"},
		{"nothing before the dot", affinity.JVMRoute, ".n1", "n1"},
		{"JEUS's engine", affinity.JEUS, "zxV8mQ.c2VydmVyMQ==", "c2VydmVyMQ=="},
		{"WebLogic's primary and secondary, without the time", affinity.WebLogic, "abc!-111!222!1300000000000", "-111 222"},
		{"no time", affinity.WebLogic, "abc!-111!222", "-111 222"},
		{"no secondary", affinity.WebLogic, "abc!-111", "-111"},
		{"NONE is a name that nobody has", affinity.WebLogic, "abc!-111!NONE", "-111 NONE"},
		{"an empty primary", affinity.WebLogic, "abc!!222", "222"},
		{"no JVM", affinity.WebLogic, "abc.n1", ""},
		{"WebSphere's clone", affinity.WebSphere, "0000A2MB4IJozU_VM8IffsMNfdR:v544d0o0", "v544d0o0"},
		{"clones after failover", affinity.WebSphere, "0000A2MB4IJozU_VM8IffsMNfdR:dead:live", "dead live"},
		{"no more than a cache id", affinity.WebSphere, "0000:v544d0o0", ""},
		{"the least session", affinity.WebSphere, "0000A:v544d0o0", "v544d0o0"},
		{"no clone", affinity.WebSphere, "0000A2MB4IJozU", ""},
		{"recognised by dots", affinity.Recognise, "abc.n1", "n1"},
		{"by exclamation marks", affinity.Recognise, "abc!-111!222!13", "-111 222"},
		{"by colons", affinity.Recognise, "0000abc:v1:v2", "v1 v2"},
		{"by all that it holds", affinity.Recognise, "0000abc.n1:8080", "8080 n1:8080"},
		{"by none", affinity.Recognise, "abc", ""},
		{"an empty value", affinity.Recognise, "", ""},
		{"an unknown format", affinity.Format("cookie"), "abc.n1", ""},
	} {
		assert.Equal(t, c.want, strings.Join(c.format.AppendRoutes(nil, c.value), " "), c.name)
	}
}

func TestNoMoreNamesThanThereIsRoomFor(t *testing.T) {
	for _, f := range []affinity.Format{affinity.Recognise, affinity.JVMRoute, affinity.WebLogic, affinity.WebSphere} {
		full := make([]string, affinity.MaxRoutes-1, affinity.MaxRoutes)
		got := f.AppendRoutes(full, "0000abc!a!b:c:d.e.f.g")
		assert.Len(t, got, affinity.MaxRoutes, f)
		assert.Same(t, &full[0], &got[0], f)
	}
	assert.Len(t, affinity.JVMRoute.AppendRoutes(nil, strings.Repeat(".a", 1000)), affinity.MaxRoutes)
}

func TestTheValueOfACookie(t *testing.T) {
	for _, c := range []struct {
		name, list, cookie string
		want               []string
	}{
		{"alone", "SID=abc.n1", "SID", []string{"abc.n1"}},
		{"among others", "a=1; SID=abc.n1; b=2", "SID", []string{"abc.n1"}},
		{"twice, the narrower path first (RFC 6265 §5.4)", "SID=a.n1; SID=b.n2", "SID", []string{"a.n1", "b.n2"}},
		{"a name that contains it (MODCLUSTER-461)", "XSID=a.n1; SIDX=b.n2; S=SID=c", "SID", nil},
		{"a name in other letters", "sid=a.n1", "SID", nil},
		{"in quotes", `SID="a.n1"`, "SID", []string{"a.n1"}},
		{"half in quotes", `SID="a.n1; b=2`, "SID", []string{`"a.n1`}},
		{"nothing but quotes", `SID="; SID=""`, "SID", []string{`"`, ""}},
		{"with an equals sign in it", "SID=a.n1==", "SID", []string{"a.n1=="}},
		{"empty", "SID=", "SID", []string{""}},
		{"no pair", "SID; SID", "SID", nil},
		{"white space of all kinds, or none", " SID = a ;SID=b;\tSID\t=\tc", "SID", []string{"a", "b", "c"}},
		{"empty pairs", ";;SID=a;;", "SID", []string{"a"}},
		{"nothing", "", "SID", nil},
	} {
		var got []string
		for value, rest, found := affinity.CutCookie(c.list, c.cookie); found; value, rest, found = affinity.CutCookie(rest, c.cookie) {
			got = append(got, value)
		}
		assert.Equal(t, c.want, got, c.name)
	}
}

func TestTheSessionInAPath(t *testing.T) {
	p := affinity.ParameterOf("JSESSIONID")
	for _, c := range []struct{ name, path, value, rest string }{
		{"at the end", "/shop/cart;jsessionid=abc.n1", "abc.n1", "/shop/cart"},
		{"of a segment in between", "/shop;jsessionid=abc.n1/cart", "abc.n1", "/shop/cart"},
		{"before another parameter", "/shop;jsessionid=abc!1!2;v=1", "abc!1!2", "/shop;v=1"},
		{"after another one", "/shop;v=1;jsessionid=a:b", "a:b", "/shop;v=1"},
		{"the first of two", "/a;jsessionid=1/b;jsessionid=2", "1", "/a/b;jsessionid=2"},
		{"empty", "/a;jsessionid=", "", "/a"},
	} {
		value, rest, found := p.Cut(c.path)
		assert.True(t, found, c.name)
		assert.Equal(t, []string{c.value, c.rest}, []string{value, rest}, c.name)
	}
	for name, path := range map[string]string{
		"in capitals": "/a;JSESSIONID=1", "a longer name": "/a;xjsessionid=1", "no parameter": "/jsessionid=1", "no value": "/a;jsessionid", "nothing": "",
	} {
		_, rest, found := p.Cut(path)
		assert.False(t, found, name)
		assert.Equal(t, path, rest, name)
	}
	_, _, found := affinity.ParameterOf("").Cut("/a;=1")
	assert.False(t, found, "no cookie has no parameter")
}

func TestParseFormat(t *testing.T) {
	for _, s := range []string{"", "jvmroute", "jeus", "weblogic", "websphere"} {
		f, err := affinity.ParseFormat(s)
		require.NoError(t, err)
		assert.Equal(t, affinity.Format(s), f)
	}
	for _, s := range []string{"JVMRoute", "route ", "tomcat"} {
		_, err := affinity.ParseFormat(s)
		assert.Error(t, err, s)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		var room [affinity.MaxRoutes]string
		value, _, _ := affinity.CutCookie("theme=dark; SID=0000abc!1!2:a:b.c.d; consent=yes", "SID")
		if len(affinity.Recognise.AppendRoutes(room[:0], value)) != 7 {
			t.Fatal("names are missing")
		}
	}))
}
