package albevent_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/albevent"
	"github.com/detourhq/detour/pkg/redirect"
)

// benchAnswer is the usual answer to benchmark events.
var benchAnswer = redirect.Answer{
	Status: http.StatusTemporaryRedirect,
	Header: redirect.Header{
		{Name: "Location", Value: "https://n2.example.com/shop/cart?sku=4711&sku=4712&detour=1.t1x2y3.a1b2"},
		{Name: "Cache-Control", Value: "no-store"},
		{Name: "X-Aspectran-Redirect-Count", Value: "1"},
		{Name: "X-Aspectran-Redirected-From", Value: "blue"},
		{Name: "X-Aspectran-Visited-Nodes", Value: "blue,green-2"},
		{Name: "X-Detour-Epoch", Value: "1767225600000"},
		{Name: "Connection", Value: "close"},
	},
}

func BenchmarkDecodeEncode(b *testing.B) {
	for _, e := range benchEvents(b) {
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, mode, err := albevent.Decode(e.raw)
				if err != nil {
					b.Fatal(err)
				}
				albevent.Encode(benchAnswer, mode)
			}
		})
	}
}

// BenchmarkDecodeEncodeStdlib is what BenchmarkDecodeEncode is measured by.
func BenchmarkDecodeEncodeStdlib(b *testing.B) {
	for _, e := range benchEvents(b) {
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var req events.ALBTargetGroupRequest
				if err := json.Unmarshal(e.raw, &req); err != nil {
					b.Fatal(err)
				}
				if _, err := json.Marshal(response(benchAnswer)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func response(a redirect.Answer) events.ALBTargetGroupResponse {
	header := make(map[string][]string, len(a.Header))
	for _, f := range a.Header {
		header[f.Name] = append(header[f.Name], f.Value)
	}
	return events.ALBTargetGroupResponse{
		StatusCode:        a.Status,
		StatusDescription: "307 Temporary Redirect",
		Headers:           map[string]string{},
		MultiValueHeaders: header,
		Body:              a.Body,
	}
}

type namedEvent struct {
	name string
	raw  []byte
}

func benchEvents(tb testing.TB) []namedEvent {
	tb.Helper()
	small := compact(tb, "post-form-multi.json")
	chrome := compact(tb, "get-chrome-http2.json")
	large := withBody(tb, small, strings.Repeat("Rk9P", 700<<10/4))
	return []namedEvent{{"1KB", small}, {"browser", chrome}, {"700KB", large}}
}

// withBody returns the event raw with another body.
func withBody(tb testing.TB, raw []byte, body string) []byte {
	tb.Helper()
	head, _, ok := strings.Cut(string(raw), `"body":`)
	require.True(tb, ok)
	return []byte(head + `"body":"` + body + `","isBase64Encoded":true}`)
}
