package localalb

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Action is what a rule does: Forward, FixedResponse or Redirect.
type Action interface {
	check() error
	serve(x *exchange)
}

// Forward sends each request to one of up to five target groups, chosen at
// random by weight, 0 to 999. If all weights are 0 the answer is 503. A group
// without a healthy target keeps its share: weights do not fail over.
type Forward map[string]int

func (f Forward) check() error {
	if len(f) == 0 || len(f) > 5 {
		return fmt.Errorf("forward to %d groups, not 1 to 5", len(f))
	}
	for name, w := range f {
		if w < 0 || w > 999 {
			return fmt.Errorf("weight %d of %q is not in 0 to 999", w, name)
		}
	}
	return nil
}

func (f Forward) serve(x *exchange) {
	name, ok := f.pick(x.lb.cfg.Rand)
	if !ok {
		x.fail(http.StatusServiceUnavailable, "", "all weights are 0")
		return
	}
	x.rec.Group = name
	x.lb.mu.Lock()
	g := x.lb.groups[name]
	x.lb.mu.Unlock()
	g.serve(x)
}

// pick chooses a group by weight; ok is false if all weights are 0.
func (f Forward) pick(rand func(n int) int) (name string, ok bool) {
	total := 0
	for _, w := range f {
		total += w
	}
	if total == 0 {
		return "", false
	}
	n := rand(total)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if n -= f[name]; n < 0 {
			return name, true
		}
	}
	return "", false
}

// FixedResponse answers without any target. Status is 2XX, 4XX or 5XX,
// ContentType one of text/plain (also when empty), text/css, text/html,
// application/javascript and application/json; Body has up to 1024 bytes.
type FixedResponse struct {
	Status      int
	ContentType string
	Body        string
}

func (f FixedResponse) check() error {
	switch {
	case f.Status < 200 || f.Status > 599 || f.Status/100 == 3:
		return fmt.Errorf("fixed response: status %d is not 2XX, 4XX or 5XX", f.Status)
	case len(f.Body) > 1024:
		return fmt.Errorf("fixed response: body of %d bytes, more than 1024", len(f.Body))
	}
	switch f.ContentType {
	case "", "text/plain", "text/css", "text/html", "application/javascript", "application/json":
		return nil
	}
	return fmt.Errorf("fixed response: content type %q is not allowed", f.ContentType)
}

func (f FixedResponse) serve(x *exchange) {
	x.own(f.Status, or(f.ContentType, "text/plain"), f.Body)
}

// Redirect answers 301 or 302; ALB has no 307 or 308. An empty component keeps
// that of the request, as do the words #{protocol}, #{host}, #{port}, #{path}
// (without its leading slash) and #{query} inside one. Path begins with a
// slash; Query has no leading question mark. One component must differ from
// the request's, other than the query.
type Redirect struct {
	Status   int
	Protocol string // HTTP, HTTPS or empty
	Host     string
	Port     string // 1 to 65535 or empty
	Path     string
	Query    string
}

func (a Redirect) check() error {
	switch {
	case a.Status != http.StatusMovedPermanently && a.Status != http.StatusFound:
		return fmt.Errorf("redirect: status %d is neither 301 nor 302", a.Status)
	case !slices.Contains([]string{"", "HTTP", "HTTPS", "#{protocol}"}, a.Protocol):
		return fmt.Errorf("redirect: protocol %q is neither HTTP nor HTTPS", a.Protocol)
	case max(len(a.Host), len(a.Port), len(a.Path), len(a.Query)) > 128:
		return errors.New("redirect: a component is over 128 bytes")
	case a.Path != "" && !strings.HasPrefix(a.Path, "/"):
		return fmt.Errorf("redirect: path %q does not begin with /", a.Path)
	case a.Port != "" && a.Port != "#{port}" && !isPort(a.Port):
		return fmt.Errorf("redirect: port %q is not 1 to 65535", a.Port)
	case a.loops():
		return errors.New("redirect: protocol, host, port and path are those of the request")
	}
	return nil
}

// loops reports whether a sends each request back to where it came from.
func (a Redirect) loops() bool {
	a = a.withDefaults()
	return a.Protocol == "#{protocol}" && a.Host == "#{host}" && a.Port == "#{port}" && a.Path == "/#{path}"
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func (a Redirect) withDefaults() Redirect {
	a.Protocol = or(a.Protocol, "#{protocol}")
	a.Host = or(a.Host, "#{host}")
	a.Port = or(a.Port, "#{port}")
	a.Path = or(a.Path, "/#{path}")
	a.Query = or(a.Query, "#{query}")
	return a
}

func (a Redirect) serve(x *exchange) {
	x.w.Header().Set("Location", a.location(x))
	x.own(a.Status, "text/html", page(a.Status))
}

// location always names the port, as ALB does.
func (a Redirect) location(x *exchange) string {
	a = a.withDefaults()
	host, _, _ := cutPort(or(x.r.Host, x.lb.cfg.DNSName))
	words := strings.NewReplacer(
		"#{protocol}", x.scheme(), "#{host}", host, "#{port}", x.port(),
		"#{path}", strings.TrimPrefix(x.path, "/"), "#{query}", x.query)
	to := strings.ToLower(words.Replace(a.Protocol)) + "://" + words.Replace(a.Host) +
		":" + words.Replace(a.Port) + words.Replace(a.Path)
	if q := words.Replace(a.Query); q != "" {
		to += "?" + q
	}
	return to
}
