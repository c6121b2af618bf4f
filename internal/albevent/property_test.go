package albevent_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/albevent"
)

// The query is that of the pairs the event was made of, and what the standard
// library reads in it, in order, however the event's strings are escaped.
func TestDecodeReadsRandomQueriesAsTheStandardLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(307, 503))
	for range 500 {
		pairs := make([][]string, rnd.IntN(8)) // key and its values
		for i := range pairs {
			pairs[i] = make([]string, 2+rnd.IntN(3))
			for j := range pairs[i] {
				pairs[i][j] = randomText(rnd)
			}
		}
		single, multi, wantSingle, wantMulti := queries(rnd, pairs)
		for _, tt := range []struct{ event, want string }{{single, wantSingle}, {multi, wantMulti}} {
			req, mode, err := albevent.Decode([]byte(tt.event))
			require.NoError(t, err, tt.event)
			require.Equal(t, tt.want, req.Query, tt.event)
			want, wantMode := reference(parse([]byte(tt.event)).(object))
			require.Equal(t, want, lossy(req), tt.event)
			require.Equal(t, wantMode, mode, tt.event)
		}
	}
}

// queries returns events with the first value of each key and with all of them,
// and the query that each stands for.
func queries(rnd *rand.Rand, pairs [][]string) (single, multi, wantSingle, wantMulti string) {
	var one, all, wantOne, wantAll []string
	for _, pair := range pairs {
		key := randomQuote(rnd, pair[0])
		values := make([]string, 0, len(pair)-1)
		for _, v := range pair[1:] {
			values = append(values, randomQuote(rnd, v))
			wantAll = append(wantAll, pair[0]+"="+v)
		}
		wantOne = append(wantOne, pair[0]+"="+pair[1])
		one = append(one, key+":"+values[0])
		all = append(all, key+":["+strings.Join(values, ", ")+"]")
	}
	single = `{"queryStringParameters":{` + strings.Join(one, ",") + `}}`
	multi = `{"multiValueQueryStringParameters": {` + strings.Join(all, " ,") + ` } }`
	return single, multi, strings.Join(wantOne, "&"), strings.Join(wantAll, "&")
}

func randomText(rnd *rand.Rand) string {
	alphabet := []rune("abcxyz019-._~%&=+[]!'\"\\/<>\n\t\x00\x7fé\u2028€😀\ufffd")
	text := make([]rune, rnd.IntN(20))
	for i := range text {
		text[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return string(text)
}

// randomQuote returns s as a JSON string with more escapes than it needs.
func randomQuote(rnd *rand.Rand, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r < ' ' || rnd.IntN(4) == 0:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Strings end, begin and span where one copy of the event's text ends.
func TestDecodeReadsStringsAroundEachEndOfACopy(t *testing.T) {
	for n := 4000; n < 4100; n++ {
		long := strings.Repeat("x", n)
		event := `{"path":"/1","headers":{"a":"` + long + `","b":"2","c":"` + long + long + `","":"3"},"httpMethod":"GET"}`
		req, _, err := albevent.Decode([]byte(event))
		require.NoError(t, err)
		want, _ := reference(parse([]byte(event)).(object))
		require.Equal(t, want, req, n)
	}
}

// Whatever becomes of one byte of an event, there is a request or ErrMalformed.
func TestDecodeSurvivesEveryBrokenByte(t *testing.T) {
	raw := compact(t, "get-multi.json")
	for i := range raw {
		for _, c := range []byte("\x00\"\\{}[],:u0 \xff") {
			broken := append([]byte(nil), raw...)
			broken[i] = c
			if _, _, err := albevent.Decode(broken); err != nil {
				assert.ErrorIs(t, err, albevent.ErrMalformed)
			}
		}
	}
}
