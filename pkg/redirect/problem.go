package redirect

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problem answers with a status and a sentence for people: as HTML where the
// client asks for it, else as application/problem+json (RFC 9457). retry is left
// out where it is zero.
func (r *Redirector) problem(req *Request, status int, detail string, retry time.Duration) Answer {
	h := Header{{"Cache-Control", "no-store"}}
	if retry > 0 {
		h = append(h, Field{"Retry-After", strconv.FormatInt(seconds(retry), 10)})
	}
	a := Answer{Status: status, Header: r.cors(req, h)}
	contentType := "application/problem+json"
	a.Body = jsonProblem(status, detail)
	if wantsHTML(req) {
		contentType = "text/html; charset=utf-8"
		a.Body = htmlProblem(status, detail, retry)
	}
	a.Header = append(a.Header, Field{"Content-Type", contentType})
	if req.Method == http.MethodHead {
		a.Body = ""
	}
	return a
}

// seconds rounds up: a client that comes back too early comes in vain.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func jsonProblem(status int, detail string) string {
	body, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(status), status, detail})
	if err != nil {
		return "{}" // a struct of strings and a number always encodes
	}
	return string(body)
}

func htmlProblem(status int, detail string, retry time.Duration) string {
	refresh := ""
	if retry > 0 {
		refresh = fmt.Sprintf(`<meta http-equiv="refresh" content="%d">`, seconds(retry))
	}
	title := html.EscapeString(http.StatusText(status))
	return fmt.Sprintf(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>%s</title>%s</head>`+
		`<body><h1>%s</h1><p>%s</p></body></html>`, title, refresh, title, html.EscapeString(detail))
}

// wantsHTML reports whether Accept would rather have HTML than JSON (RFC 9110
// §12.5.1); of equals the one that is named first.
func wantsHTML(req *Request) bool {
	likes, best := false, 0.0
	for wanted := range strings.SplitSeq(strings.ToLower(req.Header.Get("Accept")), ",") {
		kind, parameters, _ := strings.Cut(wanted, ";")
		isHTML := strings.TrimSpace(kind) == "text/html"
		if q := quality(parameters); q > best && (isHTML || strings.Contains(kind, "json")) {
			likes, best = isHTML, q
		}
	}
	return likes
}

// quality returns the value of the parameter q, 1 if there is none.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}
