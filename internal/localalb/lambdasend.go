package localalb

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// answer sends the function's answer to the client, or 502 if ALB would not
// accept it.
func (x *exchange) answer(payload []byte, multi bool) {
	a, err := parseAnswer(payload, multi)
	if err != nil {
		reason := ReasonInvalidResponse
		if errors.Is(err, errTooLarge) {
			reason = ReasonResponseTooLarge
		}
		x.fail(http.StatusBadGateway, reason, err.Error())
		return
	}
	if multi && !x.lb.cfg.KeepRepeatedOrder {
		slices.Reverse(a.header) // order matters only among equal names
	}
	x.rec.TargetStatus = a.status
	setHeaders(x.w.Header(), a.header)
	x.begin(a.status, len(a.body))
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(a.body) // the client may have left
	}
}

// setHeaders adds the function's headers to h. The load balancer makes its own
// Content-Length, Date and Server, and does not honour hop-by-hop headers.
// Names keep their case, so that two spellings are two lines.
func setHeaders(h http.Header, all []field) {
	for _, f := range all {
		switch http.CanonicalHeaderKey(f.name) {
		case "Content-Length", "Date", "Server",
			"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		default:
			h[f.name] = append(h[f.name], f.value)
		}
	}
	spelt := slices.ContainsFunc(all, func(f field) bool { return strings.EqualFold(f.name, "Content-Type") })
	switch _, canonical := h["Content-Type"]; {
	case !spelt:
		h.Set("Content-Type", "application/octet-stream")
	case !canonical:
		h["Content-Type"] = nil // keeps net/http from adding a second one
	}
}
