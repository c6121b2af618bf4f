package albevent_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/albevent"
	"github.com/detourhq/detour/pkg/redirect"
)

func TestDecodeKeepsTheQueryRaw(t *testing.T) {
	for _, tt := range []struct{ name, field, want string }{
		{"encoded brackets stay encoded (dougmoscrop/serverless-http#74)", `{"query":"%28countryCode%3DUS%29"}`, "query=%28countryCode%3DUS%29"},
		{"plus and question mark stay (CodeGenieApp/serverless-express#219, #552)", `{"name":"John+Henry","greeting":"HOW+ARE+YOU+?"}`, "name=John+Henry&greeting=HOW+ARE+YOU+?"},
		{"nothing is encoded twice (aws/aws-lambda-rust-runtime#543, aws/aws-lambda-web-adapter#99)", `{"originalQueryString":"%3FshowAll%3Dtrue"}`, "originalQueryString=%3FshowAll%3Dtrue"},
		{"brackets in a key stay (brefphp/bref#456)", `{"multi[rise%20of%20planets]":"hello%20world"}`, "multi[rise%20of%20planets]=hello%20world"},
		{"an encoded space is no plus (jeremydaly/lambda-api#131, fastify/aws-lambda-fastify#90)", `{"foo":"hello%20world"}`, "foo=hello%20world"},
		{"an encoded colon stays encoded (awslabs/aws-lambda-go-api-proxy#203, #147)", `{"from":"2022-09-20T04%3A11%3A02"}`, "from=2022-09-20T04%3A11%3A02"},
		{"a malformed escape stays", `{"a":"%zz","%":"%4"}`, "a=%zz&%=%4"},
		{"an equals sign in a value stays", `{"a":"=","b":"c=d"}`, "a==&b=c=d"},
		{"a key without a value has an equals sign", `{"flag":""}`, "flag="},
		{"all values of a list (aws/aws-lambda-java-libs#162)", `{"b":["2","1"],"a":["3"]}`, "b=2&b=1&a=3"},
		{"strings and lists in one (aws/aws-lambda-rust-runtime#954)", `{"b":["2"],"a":"3","c":[]}`, "b=2&a=3"},
		{"numbers and booleans are their text, null is empty", `{"a":1E+3,"b":[true],"c":null,"d":{}}`, "a=1E+3&b=true&c="},
		{"the empty key stays", `{"":"v"}`, "=v"},
		{"the order is the event's", `{"z":"1","a":"2","m":"3"}`, "z=1&a=2&m=3"},
		{"a repeated name is kept", `{"a":"1","b":"2","a":"3"}`, "a=1&b=2&a=3"},
		{"bytes that are not UTF-8 stay", "{\"k\xff\":\"\xc3\xa9\x80\"}", "k\xff=\xc3\xa9\x80"},
		{"no pair, no query", `{}`, ""},
		{"null, no query", `null`, ""},
		{"a string, no query", `"a=1"`, ""},
		{"a list, no query", `[["a","1"]]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, field := range []string{"queryStringParameters", "multiValueQueryStringParameters"} {
				assert.Equal(t, tt.want, decode(t, `{"`+field+`":`+tt.field+`}`).Query, field)
			}
		})
	}
}

func TestDecodeTakesEveryTypeOfValue(t *testing.T) {
	for _, tt := range []struct {
		name, field string
		want        redirect.Header
	}{
		{"a string", `{"host":"app.example.com"}`, redirect.Header{{Name: "host", Value: "app.example.com"}}},
		{"commas are not separators", `{"accept":"a,b"}`, redirect.Header{{Name: "accept", Value: "a,b"}}},
		{"a list keeps its order", `{"a":["2","1"],"b":["3"]}`, redirect.Header{{Name: "a", Value: "2"}, {Name: "a", Value: "1"}, {Name: "b", Value: "3"}}},
		{"the empty list holds nothing", `{"a":[],"b":["3"]}`, redirect.Header{{Name: "b", Value: "3"}}},
		{"a number is its text (CodeGenieApp/serverless-express#688)", `{"content-length":9,"x":-1.50e+3}`, redirect.Header{{Name: "content-length", Value: "9"}, {Name: "x", Value: "-1.50e+3"}}},
		{"a number in a list too", `{"content-length":[9]}`, redirect.Header{{Name: "content-length", Value: "9"}}},
		{"a boolean is its text (jeremydaly/lambda-api#117)", `{"a":true,"b":[false]}`, redirect.Header{{Name: "a", Value: "true"}, {Name: "b", Value: "false"}}},
		{"null is the empty string", `{"a":null,"b":[null]}`, redirect.Header{{Name: "a"}, {Name: "b"}}},
		{"objects are left out", `{"a":{"b":"c"},"d":[{"e":["f"]},"g"]}`, redirect.Header{{Name: "d", Value: "g"}}},
		{"lists in lists are left out", `{"a":[["b"],"c",[[]]]}`, redirect.Header{{Name: "a", Value: "c"}}},
		{"the other case is kept", `{"Host":"APP.example.com"}`, redirect.Header{{Name: "Host", Value: "APP.example.com"}}},
		{"repeated names are kept", `{"a":"1","a":["2"]}`, redirect.Header{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, field := range []string{"headers", "multiValueHeaders"} {
				assert.Equal(t, tt.want, decode(t, `{"`+field+`":`+tt.field+`}`).Header, field)
			}
		})
	}
}

func TestDecodeFindsTheModeAndReadsTheFullerFamily(t *testing.T) {
	const (
		h  = `"headers":{"host":"s"}`
		mh = `"multiValueHeaders":{"host":["m"]}`
		q  = `"queryStringParameters":{"q":"s"}`
		mq = `"multiValueQueryStringParameters":{"q":["m"]}`
	)
	for _, tt := range []struct {
		name, event string
		mode        albevent.Mode
		host, query string
	}{
		{"the default: single", h + `,` + q, albevent.Single, "s", "q=s"},
		{"only lists: multi (honojs/hono#2493, aws/aws-lambda-web-adapter#462)", mh + `,` + mq, albevent.Multi, "m", "q=m"},
		{"the host is found among lists (awslabs/aws-lambda-go-api-proxy#211)", mh, albevent.Multi, "m", ""},
		{"headers decide over the query: single", h + `,` + mq, albevent.Single, "s", "q=m"},
		{"headers decide over the query: multi", q + `,` + mh, albevent.Multi, "m", "q=s"},
		{"a null is missing: multi (awslabs/aws-lambda-go-api-proxy#79)", mh + `,"headers":null`, albevent.Multi, "m", ""},
		{"a null is missing: single", h + `,"multiValueHeaders":null`, albevent.Single, "s", ""},
		{"another type is missing", mh + `,"headers":"host"`, albevent.Multi, "m", ""},
		{"no headers, the query decides: single", q, albevent.Single, "", "q=s"},
		{"no headers, the query decides: multi (aslamplr/warp_lambda#11)", mq, albevent.Multi, "", "q=m"},
		{"both headers, the query decides: single", h + `,` + mh + `,` + q, albevent.Single, "m", "q=s"},
		{"both headers, the query decides: multi", h + `,` + mh + `,` + mq, albevent.Multi, "m", "q=m"},
		{"both of both", mq + `,` + q + `,` + mh + `,` + h, albevent.Single, "m", "q=m"},
		{"empty objects are there", `"multiValueHeaders":{},"headers":null,` + q, albevent.Multi, "", "q=s"},
		{"filled beats empty: multi", `"headers":{},"queryStringParameters":{},` + mh + `,` + mq, albevent.Multi, "m", "q=m"},
		{"filled beats empty: single", `"multiValueHeaders":{"a":[]},"multiValueQueryStringParameters":{},` + h + `,` + q, albevent.Single, "s", "q=s"},
		{"no headers at all: multi", `"multiValueHeaders":{},"multiValueQueryStringParameters":{}`, albevent.Multi, "", ""},
		{"no headers at all: single", `"headers":{},"multiValueQueryStringParameters":{}`, albevent.Single, "", ""},
		{"neither", `"path":"/"`, albevent.Single, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, mode, err := albevent.Decode([]byte(`{` + tt.event + `}`))
			require.NoError(t, err)
			assert.Equal(t, tt.mode, mode)
			assert.Equal(t, tt.host, req.Header.Get("host"))
			assert.Equal(t, tt.query, req.Query)
		})
	}
}

func TestDecodeTakesWhatIsThere(t *testing.T) {
	for _, tt := range []struct {
		name, event string
		want        redirect.Request
	}{
		{"an empty object", ` { } `, redirect.Request{}},
		{"only unknown members", `{"version":"2.0","cookies":["a=b"],"x":{"y":[1,null,{}]}}`, redirect.Request{}},
		{"null everywhere", `{"requestContext":null,"httpMethod":null,"path":null,"body":null,"isBase64Encoded":null}`, redirect.Request{}},
		{"a null elb", `{"requestContext":{"elb":null}}`, redirect.Request{}},
		{"a null ARN", `{"requestContext":{"elb":{"targetGroupArn":null}}}`, redirect.Request{}},
		{"a context without elb (CodeGenieApp/serverless-express#331)", `{"requestContext":{"identity":{}},"path":"/"}`, redirect.Request{Path: "/"}},
		{"a context of another type", `{"requestContext":["elb"],"path":"/"}`, redirect.Request{Path: "/"}},
		{"the ARN among others", `{"requestContext":{"a":[{}],"elb":{"b":{},"targetGroupArn":"arn:1","c":1},"d":""}}`, redirect.Request{TargetGroup: "arn:1"}},
		{"an ARN elsewhere", `{"targetGroupArn":"arn:1","elb":{"targetGroupArn":"arn:2"}}`, redirect.Request{}},
		{"a health check without host and scheme (aws/aws-lambda-rust-runtime#488, adamchainz/apig-wsgi#155, aws/aws-lambda-dotnet#436)", `{"path":"/","headers":{"user-agent":"ELB-HealthChecker/2.0"},"body":""}`, redirect.Request{Path: "/", Header: redirect.Header{{Name: "user-agent", Value: "ELB-HealthChecker/2.0"}}}},
		{"a path that is an object", `{"path":{"a":1},"httpMethod":"GET"}`, redirect.Request{Method: "GET"}},
		{"two leading slashes (kubernetes-sigs/aws-load-balancer-controller#820)", `{"path":"//application"}`, redirect.Request{Path: "//application"}},
		{"another host in the path (golang/vulndb#5658)", `{"path":"//evil.example/"}`, redirect.Request{Path: "//evil.example/"}},
		{"encoded slashes and dots (PelicanPlatform/pelican#3748)", `{"path":"/a%2Fb/%2E%2E/c"}`, redirect.Request{Path: "/a%2Fb/%2E%2E/c"}},
		{"encoded line breaks (erlyaws/yaws#464)", `{"path":"/%0D%0ASet-Cookie:crlfinjection=1"}`, redirect.Request{Path: "/%0D%0ASet-Cookie:crlfinjection=1"}},
		{"the last of repeated members", `{"path":"/1","httpMethod":"GET","path":"/2"}`, redirect.Request{Method: "GET", Path: "/2"}},
		{"a null as the last", `{"path":"/1","path":null}`, redirect.Request{}},
		{"names are case-sensitive", `{"PATH":"/1","Path":"/2"}`, redirect.Request{}},
		{"a name with escapes", `{"p\u0061th":"/1"}`, redirect.Request{Path: "/1"}},
		{"a body that looks like an event", `{"path":"/1","body":"{\"path\":\"/2\"}\\","httpMethod":"PUT"}`, redirect.Request{Method: "PUT", Path: "/1"}},
		{"a body of another type", `{"body":{"path":"/2"},"path":"/1"}`, redirect.Request{Path: "/1"}},
		{"any white space", "\t{\r\n\"path\" :\t\"/1\"\n,\"x\":[ 1 , 2 ] }\n", redirect.Request{Path: "/1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, decode(t, tt.event))
		})
	}
}

func decode(t *testing.T, event string) redirect.Request {
	t.Helper()
	raw := []byte(event)
	req, _, err := albevent.Decode(raw)
	require.NoError(t, err)
	clear(raw) // the request must not refer to it
	return req
}
