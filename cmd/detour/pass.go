package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
)

// pass is a tester's way to one node.
type pass struct {
	Node      string         `json:"node"`
	Cookie    string         `json:"cookie"`     // NAME=VALUE, as a request carries it
	SetCookie string         `json:"set_cookie"` // as a browser is given it
	Curl      string         `json:"curl"`
	Until     cluster.Millis `json:"until_ms"`
}

func (a *app) passCommand() *cobra.Command {
	var lasts time.Duration
	var domain string
	c := &cobra.Command{
		Use:   "pass node:ID",
		Short: "Let a tester through to a node that is paused",
		Long: `Pass makes a cookie that leads whoever carries it to one node, even while it is
paused, stale or not offered, as long as it is registered. The key that signs it
is DETOUR_PASS_KEY, of 16 bytes at least, the same as the redirect function's and
the gate's; nothing is written to the registry. A pass cannot be taken back: it
ends by itself, by this machine's clock, or with the key.

A browser sends the cookie to the node's own host too if --cookie-domain names a
domain that both are in.`,
		Example: `  detour pass node:n1
  detour pass node:n1 --for 15m --cookie-domain example.com`,
		Args: exactly("node:ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.pass(args[0], lasts, domain, time.Now())
			if err != nil {
				return err
			}
			return a.showPass(p)
		},
	}
	c.Flags().DurationVar(&lasts, "for", time.Hour, "how long it is valid")
	c.Flags().StringVar(&domain, "cookie-domain", "", "domain that the cookie is for (default: the host that sets it)")
	return c
}

// pass signs a pass to target that is valid for lasts from now.
func (a *app) pass(target string, lasts time.Duration, domain string, now time.Time) (p pass, err error) {
	t, err := cluster.ParseTarget(target)
	if err != nil {
		return p, err
	}
	settings, err := config.ReadHeartbeat(a.environment)
	switch {
	case t.Kind != cluster.NodeKind:
		err = errors.New("a pass is for one node: node:ID")
	case err != nil:
	case settings.PassKey == "":
		err = fmt.Errorf("no key is named: set DETOUR_PASS_KEY to the redirect function's, %d bytes at least", redirect.MinPassKey)
	case lasts < time.Second:
		err = fmt.Errorf("--for %s is less than a second", lasts)
	case domain != "" && (strings.ContainsAny(domain, "/:") || cluster.CheckEndpoint("https://"+domain) != nil):
		err = fmt.Errorf("--cookie-domain %q is no domain", domain)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", errUsage, err)
	}
	until := cluster.Millis(now.Add(lasts).Unix() * 1000)
	cookie := redirect.PassCookie + "=" + redirect.SignPass([]byte(settings.PassKey), t.ID, until)
	set := fmt.Sprintf("%s; Path=/; Max-Age=%d; HttpOnly; Secure", cookie, int(lasts.Seconds()))
	if domain != "" {
		set += "; Domain=" + domain
	}
	curl := fmt.Sprintf("curl --location --cookie '%s' https://HOST/PATH", cookie)
	return pass{Node: t.ID, Cookie: cookie, SetCookie: set, Curl: curl, Until: until}, nil
}

func (a *app) showPass(p pass) error {
	if a.json {
		return json.NewEncoder(a.stdout).Encode(p)
	}
	fmt.Fprintf(a.stdout, "pass to node %s until %s\n\n", p.Node, p.Until.Time().Format(time.RFC3339))
	fmt.Fprintf(a.stdout, "Cookie: %s\nSet-Cookie: %s\n\n%s\n", p.Cookie, p.SetCookie, p.Curl)
	return nil
}
