package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A visit has so many requests between login and logout. With those two there are
// meanRequests of them.
const (
	minSteps, maxSteps = 4, 12
	meanRequests       = (minSteps+maxSteps)/2 + 2
)

const requestTimeout = 15 * time.Second

// customer is one visit of one person by one browser, which keeps cookies and follows
// redirects. Where a redirect has led, it stays: the pages there link to that host.
type customer struct {
	client *http.Client
	base   string // of the host where it is
	tally  *Tally
	phase  func() string
	think  time.Duration // between two requests, on average

	session Life // where the session lives; zero before the login
	cart    []string
}

func newCustomer(transport http.RoundTripper, base string, tally *Tally, phase func() string, think time.Duration) *customer {
	jar, _ := cookiejar.New(nil) // never fails
	return &customer{
		client: &http.Client{Transport: transport, Jar: jar, Timeout: requestTimeout},
		base:   base, tally: tally, phase: phase, think: think,
	}
}

// visit goes on from the login to the logout, and ends before where a request goes
// wrong, stop is closed or ctx ends.
func (c *customer) visit(ctx context.Context, stop <-chan struct{}) {
	if !c.send(ctx, http.MethodPost, "/login", nil) {
		return
	}
	for range minSteps + rand.IntN(maxSteps-minSteps+1) {
		if !c.rest(ctx, stop) {
			return
		}
		ok := false
		if rand.IntN(2) == 0 {
			item := strconv.FormatUint(rand.Uint64(), 36)
			c.cart = append(c.cart, item)
			ok = c.send(ctx, http.MethodPost, "/cart", url.Values{"item": {item}})
		} else {
			ok = c.send(ctx, http.MethodGet, "/cart", nil)
		}
		if !ok {
			return
		}
	}
	if c.rest(ctx, stop) {
		c.cart = nil
		c.send(ctx, http.MethodPost, "/logout", nil)
	}
}

// rest waits for half to one and a half times of what the customer thinks; false means
// that it is time to go.
func (c *customer) rest(ctx context.Context, stop <-chan struct{}) bool {
	timer := time.NewTimer(c.think/2 + rand.N(c.think+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
	case <-ctx.Done():
	}
	return false
}

// send sends one request and counts what becomes of it, unless ctx has ended; false
// means that something is wrong.
func (c *customer) send(ctx context.Context, method, path string, form url.Values) bool {
	o := outcome{method: method, url: c.base + path, session: c.session, login: path == "/login", closed: c.tally.closedNow()}
	began := time.Now()
	sent := o.url
	res, err := c.do(ctx, method, sent, form)
	if err == nil {
		o.url, o.status, o.by = res.Request.URL.String(), res.StatusCode, lifeOf(res.Header)
		c.base = res.Request.URL.Scheme + "://" + res.Request.URL.Host
		o.lost, err = c.check(res)
		_ = res.Body.Close() // read to its end
	}
	o.err, o.redirected, o.took = err, o.url != sent, time.Since(began)
	if ctx.Err() != nil {
		return false
	}
	c.tally.add(o, time.Now(), c.phase())
	if o.login {
		c.session = o.by
	}
	return err == nil
}

func (c *customer) do(ctx context.Context, method, address string, form url.Values) (*http.Response, error) {
	// From a strings.Reader net/http can send the body once more, to where a 307 leads.
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.client.Do(req)
	var at *url.Error
	if errors.As(err, &at) {
		err = fmt.Errorf("at %s: %w", at.URL, at.Err)
	}
	return res, err
}

// check compares the cart of the answer with the one that the customer filled. lost
// says that the session is gone.
func (c *customer) check(res *http.Response) (lost bool, err error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return false, fmt.Errorf("read answer: %w", err)
	}
	known := c.session != Life{}
	switch {
	case res.StatusCode == http.StatusUnauthorized && known:
		return true, fmt.Errorf("the session of %s is gone, %s does not know it", c.session.Node, lifeOf(res.Header).Node)
	case res.StatusCode != http.StatusOK:
		return false, fmt.Errorf("status %d", res.StatusCode)
	}
	var cart []string
	if err := json.Unmarshal(body, &cart); err != nil {
		return false, fmt.Errorf("read cart: %w", err)
	}
	if slices.Equal(cart, c.cart) {
		return false, nil
	}
	return known && len(cart) == 0, fmt.Errorf("the cart holds %d items, not the %d put in", len(cart), len(c.cart))
}
