package albevent_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/albevent"
	"github.com/detourhq/detour/pkg/redirect"
)

func TestDecodeReadsStrings(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"every short escape", `\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t"},
		{"a code point", `\u00e9\u00E9\u2028`, "éé\u2028"},
		{"NUL", `a\u0000b`, "a\x00b"},
		{"a surrogate pair", `\ud83d\ude00`, "😀"},
		{"a high surrogate alone", `\ud83d!`, "\ufffd!"},
		{"a low surrogate alone", `\ude00!`, "\ufffd!"},
		{"surrogates the wrong way round", `\ude00\ud83d`, "\ufffd\ufffd"},
		{"a high surrogate before a pair", `\ud83d\ud83d\ude00`, "\ufffd😀"},
		{"a high surrogate before another escape", `\ud83d\u0041\ud83d\n`, "\ufffdA\ufffd\n"},
		{"a high surrogate at the end", `\ud83d`, "\ufffd"},
		{"backslashes at the end", `\\\\`, `\\`},
		{"a quote after backslashes", `\\\"`, `\"`},
		{"bytes that are not UTF-8", "\xff\\n\xc3", "\xff\n\xc3"},
		{"control characters", "\x00\x01\n\t", "\x00\x01\n\t"},
		{"more than one window", strings.Repeat("0123456789", 1000), strings.Repeat("0123456789", 1000)},
		{"more than one window of escapes", strings.Repeat(`\n`, 10_000), strings.Repeat("\n", 10_000)},
		{"the empty string", ``, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := decode(t, `{"path":"`+tt.text+`","headers":{"`+tt.text+`":"`+tt.text+`"}}`)
			assert.Equal(t, tt.want, req.Path)
			assert.Equal(t, redirect.Header{{Name: tt.want, Value: tt.want}}, req.Header)
		})
	}
}

func TestDecodeSaysWhereAnEventIsMalformed(t *testing.T) {
	for _, tt := range []struct{ name, event, at string }{
		{"nothing", ``, "byte 0 of 0"},
		{"white space", " \n", "byte 2 of 2"},
		{"a string", `"GET"`, "byte 0 of 5"},
		{"null", `null`, "byte 0 of 4"},
		{"a list", `[{}]`, "byte 0 of 4"},
		{"more than one object", `{} {}`, "byte 3 of 5"},
		{"a NUL after the object", "{}\x00", "byte 2 of 3"},
		{"a comma before the first member", `{,"a":1}`, "byte 1 of 8"},
		{"a comma after the last member", `{"a":1,}`, "byte 7 of 8"},
		{"a comma after the last item", `{"a":[1,]}`, "byte 8 of 10"},
		{"no comma between members", `{"a":1 "b":2}`, "byte 7 of 13"},
		{"no comma between items", `{"headers":{"a":["b" "c"]}}`, "byte 21 of 27"},
		{"no colon", `{"a" 1}`, "byte 5 of 7"},
		{"no colon after a header", `{"headers":{"a","b"}}`, "byte 15 of 21"},
		{"no value", `{"a":}`, "byte 5 of 6"},
		{"no quotes around a name", `{a:1}`, "byte 1 of 5"},
		{"the wrong bracket", `{"a":[1}}`, "byte 7 of 9"},
		{"no such word", `{"a":nul}`, "byte 5 of 9"},
		{"no such word where a string is read", `{"path":None}`, "byte 8 of 13"},
		{"an open string", `{"path":"/`, "byte 10 of 10"},
		{"an escaped closing quote", `{"path":"/\"}`, "byte 13 of 13"},
		{"an unknown escape where a string is read", `{"path":"\x41"}`, "byte 14 of 15"},
		{"a short code point", `{"path":"\u004"}`, "byte 15 of 16"},
		{"a signed code point", `{"path":"\u+041"}`, "byte 16 of 17"},
		{"a bad escape after half a pair", `{"path":"\ud83d\u00"}`, "byte 20 of 21"},
		{"an unknown escape in a name", `{"p\a":1}`, "byte 6 of 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, mode, err := albevent.Decode([]byte(tt.event))
			require.ErrorIs(t, err, albevent.ErrMalformed)
			assert.Contains(t, err.Error(), "at "+tt.at+": ")
			assert.Zero(t, req)
			assert.Equal(t, albevent.Single, mode)
		})
	}
}

func TestDecodeNestsAsDeepAsTheStandardLibrary(t *testing.T) {
	nested := func(depth int) []byte {
		lists := depth - 1 // in the object
		return []byte(`{"a":` + strings.Repeat("[", lists) + strings.Repeat("]", lists) + `}`)
	}
	for _, raw := range [][]byte{
		nested(10_000),
		nested(10_001),
		[]byte(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)),
		[]byte(strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001)),
	} {
		_, _, err := albevent.Decode(raw)
		assert.Equal(t, json.Valid(raw), err == nil, "%d bytes: %v", len(raw), err)
		assert.Equal(t, err != nil, errors.Is(err, albevent.ErrMalformed))
	}
	decode(t, `{"a":[`+strings.Repeat(`{},[],`, 10_000)+`0]}`) // side by side
	_, _, err := albevent.Decode(nested(1_000_000))
	assert.ErrorIs(t, err, albevent.ErrMalformed)
}

// The square of a million takes minutes, a million steps some milliseconds.
func TestDecodeTakesLinearTime(t *testing.T) {
	const many = 1_000_000
	start := time.Now()
	for _, text := range []string{`\\`, `\"`, `\u0000`, `\ud83d`, "x", "\xff"} {
		long := strings.Repeat(text, many/len(text))
		decode(t, `{"body":"`+long+`"}`)
		decode(t, `{"path":"`+long+`"}`)
		decode(t, `{"queryStringParameters":{`+strings.Repeat(`"`+text+`":"b",`, many/50)+`"c":["d"]}}`)
	}
	assert.Less(t, time.Since(start), 20*time.Second)
}

func TestDecodeDoesNotCopyTheBody(t *testing.T) {
	raw := withBody(t, compact(t, "get-multi.json"), strings.Repeat("Rk9P", 1<<20/4))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := albevent.Decode(raw)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10))
}
