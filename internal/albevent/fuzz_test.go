package albevent_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/albevent"
	"github.com/detourhq/detour/pkg/redirect"
)

// What the standard library takes as an object, Decode takes, and reads alike.
func FuzzDecode(f *testing.F) {
	for _, name := range eventNames(f) {
		f.Add(compact(f, name))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req, mode, err := albevent.Decode(raw)
		if err != nil {
			require.ErrorIs(t, err, albevent.ErrMalformed)
			require.Zero(t, req)
		}
		if !json.Valid(raw) {
			return
		}
		event, ok := parse(raw).(object)
		require.Equal(t, ok, err == nil, "an object: %v, but %v", ok, err)
		if !ok {
			return
		}
		want, wantMode := reference(event)
		assert.Equal(t, want, lossy(req))
		assert.Equal(t, wantMode, mode)
		var std events.ALBTargetGroupRequest
		if json.Unmarshal(raw, &std) == nil && distinct(event) {
			got := lossy(req)
			assert.Equal(t, std.HTTPMethod, got.Method)
			assert.Equal(t, std.Path, got.Path)
			assert.Equal(t, std.RequestContext.ELB.TargetGroupArn, got.TargetGroup)
		}
	})
}

// distinct reports whether the members that lead to scalars of a request are
// what encoding/json takes for them, which ignores case and merges objects.
func distinct(event object) bool {
	context, _ := event.get("requestContext").(object)
	elb, _ := context.get("elb").(object)
	return once(event, "httpMethod") && once(event, "path") && once(event, "requestContext") &&
		once(context, "elb") && once(elb, "targetGroupArn")
}

func once(o object, name string) bool {
	n := 0
	for _, m := range o {
		if strings.EqualFold(m.name, name) {
			n++
		}
		if strings.EqualFold(m.name, name) && m.name != name {
			return false
		}
	}
	return n <= 1
}

// What Encode gives is valid, holds no null, and says what the answer says.
func FuzzEncode(f *testing.F) {
	f.Add(307, "Location", "https://n2.example.com/?a=%22&detour=1.t1x2y3", "Cache-Control", "no-store", "", false)
	f.Add(200, "Set-Cookie", "a=\"1\"", "set-cookie", "b=2", "{\"a\":null}", false)
	f.Add(503, "Vary", "Origin", "vary", "Accept", "<p>\xff\u2028\x00</p>", true)
	f.Add(-1, "A\nB", "c", "D", "e\r\nF: g", "\ud7ff\xed\xa0\x80", true)
	f.Fuzz(func(t *testing.T, status int, name1, value1, name2, value2, body string, multi bool) {
		a := redirect.Answer{Status: status, Header: redirect.Header{{Name: name1, Value: value1}, {Name: name2, Value: value2}}, Body: body}
		mode := albevent.Single
		if multi {
			mode = albevent.Multi
		}
		raw := albevent.Encode(a, mode)
		require.True(t, json.Valid(raw), "%s", raw)
		require.False(t, hasNull(parse(raw)), "%s", raw)

		var got events.ALBTargetGroupResponse
		require.NoError(t, json.Unmarshal(raw, &got))
		assert.Equal(t, status, got.StatusCode)
		assert.Regexp(t, fmt.Sprintf("^%d [A-Z]", status), got.StatusDescription)
		assert.Equal(t, string([]rune(body)), got.Body)
		assert.False(t, got.IsBase64Encoded)
		want := sent(a.Header)
		if multi {
			assert.Nil(t, got.Headers)
			assert.Equal(t, want, got.MultiValueHeaders)
			return
		}
		assert.Nil(t, got.MultiValueHeaders)
		for name, value := range got.Headers {
			if strings.EqualFold(name, "Set-Cookie") {
				continue
			}
			assert.Equal(t, strings.Join(want[name], ", "), value)
		}
		assert.ElementsMatch(t, cookies(want), cookiesOfSingle(got.Headers))
		assert.Len(t, got.Headers, len(want)-min(1, len(cookies(want)))+len(cookies(want)))
	})
}

// sent returns the values that go out under the first spelling of each name.
func sent(h redirect.Header) map[string][]string {
	name := regexp.MustCompile("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$")
	value := regexp.MustCompile(`^[\t\x20-\x7e]*$`)
	first, want := map[string]string{}, map[string][]string{}
	for _, f := range h {
		if !name.MatchString(f.Name) || !value.MatchString(f.Value) {
			continue
		}
		folded := strings.ToLower(f.Name)
		if first[folded] == "" {
			first[folded] = f.Name
		}
		want[first[folded]] = append(want[first[folded]], f.Value)
	}
	return want
}

func cookies(h map[string][]string) []string {
	for name, values := range h {
		if strings.EqualFold(name, "Set-Cookie") {
			return values
		}
	}
	return nil
}

func cookiesOfSingle(h map[string]string) []string {
	var values []string
	for name, value := range h {
		if strings.EqualFold(name, "Set-Cookie") {
			values = append(values, value)
		}
	}
	return values
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case object:
		for _, m := range v {
			if hasNull(m.value) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if hasNull(item) {
				return true
			}
		}
	}
	return v == nil
}
