package redirect

import (
	"slices"

	"golang.org/x/net/http/httpguts"
)

// isPreflight reports whether req is a CORS preflight (Fetch Standard, "CORS
// protocol"): browsers take a redirect in answer to one for a network error.
func isPreflight(req *Request) bool {
	return req.Method == "OPTIONS" && req.Header.Get("Origin") != "" &&
		req.Header.Get("Access-Control-Request-Method") != ""
}

// preflight lets the browser send its request, which is then redirected; the node
// decides by its own preflight.
func (r *Redirector) preflight(req *Request) Answer {
	h := r.cors(req, Header{{"Cache-Control", "no-store"}})
	if allowed := h.Get("Access-Control-Allow-Origin"); allowed != "" {
		h = append(h, Field{"Access-Control-Allow-Methods", token(req.Header.Get("Access-Control-Request-Method"))})
		if wanted := req.Header.Get("Access-Control-Request-Headers"); wanted != "" && httpguts.ValidHeaderFieldValue(wanted) {
			h = append(h, Field{"Access-Control-Allow-Headers", wanted})
		}
	}
	return Answer{Status: 204, Header: h}
}

// cors appends to h what lets a script of the request's Origin see the answer. It
// stands on every hop, a redirect included: a browser checks each.
func (r *Redirector) cors(req *Request, h Header) Header {
	origin := req.Header.Get("Origin")
	if origin == "" {
		return h
	}
	all := len(r.config.CORSOrigins) == 0 || slices.Contains(r.config.CORSOrigins, "*")
	if all && !r.config.CORSCredentials {
		return append(h, Field{"Access-Control-Allow-Origin", "*"})
	}
	h = append(h, Field{"Vary", "Origin"})
	if !all && !slices.Contains(r.config.CORSOrigins, origin) || !httpguts.ValidHeaderFieldValue(origin) {
		return h
	}
	h = append(h, Field{"Access-Control-Allow-Origin", origin})
	if r.config.CORSCredentials {
		h = append(h, Field{"Access-Control-Allow-Credentials", "true"})
	}
	return h
}

// token returns s if it is a token (RFC 9110 §5.6.2), else "GET".
func token(s string) string {
	if httpguts.ValidHeaderFieldName(s) {
		return s
	}
	return "GET"
}
