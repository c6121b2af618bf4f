package localalb

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// serverName is the Server header of everything that ALB itself answers.
const serverName = "awselb/2.0"

// pageTitles has the words of ALB's own pages where they differ from
// http.StatusText.
var pageTitles = map[int]string{
	http.StatusMethodNotAllowed:      "Not Allowed",
	http.StatusRequestEntityTooLarge: "Request Entity Too Large",
	http.StatusRequestURITooLong:     "Request-URI Too Large",
	http.StatusServiceUnavailable:    "Service Temporarily Unavailable",
	http.StatusGatewayTimeout:        "Gateway Time-out",
}

// page returns the HTML body that ALB sends with status.
func page(status int) string {
	words := pageTitles[status]
	if words == "" {
		words = http.StatusText(status)
	}
	title := strconv.Itoa(status)
	if words != "" {
		title += " " + words
	}
	return fmt.Sprintf("<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n"+
		"<center><h1>%s</h1></center>\r\n</body>\r\n</html>\r\n", title, title)
}

// fail answers with ALB's own page and records why. Detail is for people.
func (x *exchange) fail(status int, reason, detail string) {
	x.rec.Reason, x.rec.Detail = reason, detail
	x.own(status, "text/html", page(status))
}

// own writes an answer that comes from the load balancer itself.
func (x *exchange) own(status int, contentType, body string) {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	x.begin(status, len(body))
	if x.r.Method != http.MethodHead {
		_, _ = io.WriteString(x.w, body) // the client may have left
	}
}

// begin sends the header of an answer that the load balancer composes, with
// what it adds to each. Size is the length of the body.
func (x *exchange) begin(status, size int) {
	h := x.w.Header()
	h.Set("Server", serverName)
	if x.r.ProtoMajor == 1 {
		h.Set("Connection", "keep-alive")
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(size))
	}
	x.rec.Status = status
	x.w.WriteHeader(status)
}
