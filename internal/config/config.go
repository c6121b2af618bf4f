package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/net/http/httpguts"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/redirect"
	"github.com/detourhq/detour/pkg/selection"
)

// Registry says where the registry is.
type Registry struct {
	Cluster string        `env:"DETOUR_CLUSTER" envDefault:"default"`
	URL     string        `env:"DETOUR_REDIS_URL"`
	Timeout time.Duration `env:"DETOUR_REDIS_TIMEOUT"` // of one operation; zero means the program's own default

	Serverless Switch `env:"DETOUR_REDIS_SERVERLESS" envDefault:"off"`
	IAMUser    string `env:"DETOUR_REDIS_IAM_USER"` // empty means that the URL holds user and password
	CacheName  string `env:"DETOUR_REDIS_CACHE_NAME"`
	Region     string `env:"AWS_REGION"`
	// Credentials sign in IAMUser; nil means those of the environment.
	Credentials aws.CredentialsProvider `env:"-"`
}

// Liveness says when a node is stale.
type Liveness struct {
	PulseEvery   time.Duration `env:"DETOUR_PULSE_EVERY" envDefault:"5s"`
	PulseTimeout time.Duration `env:"DETOUR_PULSE_TIMEOUT" envDefault:"15s"`
}

// Choice says how requests are decided.
type Choice struct {
	Origins            []redirect.OriginRule `env:"DETOUR_ORIGINS"`
	Policy             selection.Policy      `env:"DETOUR_POLICY" envDefault:"random"`
	MaxRedirects       int                   `env:"DETOUR_MAX_REDIRECTS" envDefault:"3"`
	FadeIn             time.Duration         `env:"DETOUR_FADE_IN" envDefault:"30s"`
	RetryAfter         time.Duration         `env:"DETOUR_RETRY_AFTER" envDefault:"5s"`
	Carrier            redirect.Carrier      `env:"DETOUR_HOP_CARRIER" envDefault:"query"`
	SessionCookie      string                `env:"DETOUR_SESSION_COOKIE" envDefault:"JSESSIONID"`
	PassKey            string                `env:"DETOUR_PASS_KEY"` // empty means that there are no passes
	AllowedHosts       []string              `env:"DETOUR_ALLOWED_HOSTS"`
	CORSOrigins        []string              `env:"DETOUR_CORS_ORIGINS"`
	CORSCredentials    Switch                `env:"DETOUR_CORS_CREDENTIALS" envDefault:"off"`
	TrustForwardedPath Switch                `env:"DETOUR_TRUST_FORWARDED_PATH" envDefault:"off"`
}

// Redirect is the configuration of the redirect function.
type Redirect struct {
	Registry
	Liveness
	Choice
	Mode         Mode          `env:"DETOUR_MODE" envDefault:"registry"`
	StaticNodes  []string      `env:"DETOUR_STATIC_NODES"`
	Freshness    time.Duration `env:"DETOUR_FRESHNESS" envDefault:"0s"`
	StaleIfError time.Duration `env:"DETOUR_STALE_IF_ERROR" envDefault:"5m"`
	Patience
}

// Patience says how requests are held.
type Patience struct {
	HoldMax       time.Duration `env:"DETOUR_HOLD_MAX" envDefault:"0s"` // zero holds none
	HoldLimit     int           `env:"DETOUR_HOLD_LIMIT" envDefault:"100"`
	HoldPerSource int           `env:"DETOUR_HOLD_PER_SOURCE"` // zero means a quarter of HoldLimit, one at least
}

// Heartbeat is the configuration of the heartbeat function and of whoever sweeps.
type Heartbeat struct {
	Registry
	Liveness
	Choice
	SweepEvery  time.Duration `env:"DETOUR_SWEEP_EVERY" envDefault:"10s"`
	PruneAfter  time.Duration `env:"DETOUR_PRUNE_AFTER" envDefault:"2m"`
	PruneMax    float64       `env:"DETOUR_PRUNE_MAX" envDefault:"0.15"`
	Probe       Switch        `env:"DETOUR_PROBE" envDefault:"on"`
	RuleSettle  time.Duration `env:"DETOUR_RULE_SETTLE" envDefault:"10s"`
	TargetGroup string        `env:"DETOUR_TARGET_GROUP"`

	AllowDefaultRule Switch `env:"DETOUR_ALLOW_DEFAULT_RULE" envDefault:"off"`
}

const (
	redirectTimeout = 250 * time.Millisecond
	operatorTimeout = 2 * time.Second
)

// ReadRedirect reads the redirect function's configuration. The error names every
// faulty variable.
func ReadRedirect(environment map[string]string) (Redirect, error) {
	var c Redirect
	err := read(environment, &c)
	if c.Timeout == 0 {
		c.Timeout = redirectTimeout
	}
	err = errors.Join(err, c.Registry.check(c.Mode == RegistryMode), c.checkMode(), c.Choice.check(), c.Patience.check())
	if c.HoldPerSource == 0 {
		c.HoldPerSource = max(1, c.HoldLimit/4)
	}
	return c, err
}

func (c *Redirect) checkMode() error {
	if c.Mode == StaticMode && len(c.StaticNodes) == 0 {
		return errors.New(`DETOUR_STATIC_NODES is empty, and DETOUR_MODE is "static": list the nodes' URLs`)
	}
	if _, err := cluster.Static(c.StaticNodes, time.Time{}); err != nil {
		return fmt.Errorf("DETOUR_STATIC_NODES: %w", err)
	}
	return nil
}

func (p *Patience) check() error {
	var err error
	if p.HoldLimit < 0 {
		err = fmt.Errorf("DETOUR_HOLD_LIMIT=%d is not 0 or more", p.HoldLimit)
	}
	if p.HoldPerSource < 0 {
		err = errors.Join(err, fmt.Errorf("DETOUR_HOLD_PER_SOURCE=%d is not 0 or more", p.HoldPerSource))
	}
	return err
}

// ReadHeartbeat reads the heartbeat function's configuration, which the CLI uses
// too. The error names every faulty variable, but not a missing registry URL.
func ReadHeartbeat(environment map[string]string) (Heartbeat, error) {
	var c Heartbeat
	err := read(environment, &c)
	if c.Timeout == 0 {
		c.Timeout = operatorTimeout
	}
	if c.PruneMax < 0 || c.PruneMax > 1 || c.PruneMax != c.PruneMax {
		err = errors.Join(err, fmt.Errorf("DETOUR_PRUNE_MAX=%v is not a share from 0 to 1", c.PruneMax))
	}
	return c, errors.Join(err, c.Registry.check(false), c.Choice.check())
}

func (r *Registry) check(required bool) error {
	var err error
	if e := cluster.CheckID(r.Cluster); e != nil {
		err = fmt.Errorf("DETOUR_CLUSTER: %w", e)
	}
	if r.URL == "" {
		if required {
			err = errors.Join(err, errors.New("DETOUR_REDIS_URL is missing: set it to redis://HOST:PORT, rediss://… for TLS"))
		}
		return err
	}
	if r.IAMUser != "" {
		if r.CacheName == "" {
			err = errors.Join(err, errors.New("DETOUR_REDIS_CACHE_NAME is missing: IAM authentication needs the name of the cache or the id of its replication group"))
		}
		if r.Region == "" {
			err = errors.Join(err, errors.New("AWS_REGION is missing: IAM authentication needs the region of the cache"))
		}
	}
	if e := cluster.CheckURL(r.URL, r.options()...); e != nil {
		err = errors.Join(err, fmt.Errorf("DETOUR_REDIS_URL: %w", e))
	}
	return err
}

// options are what the URL does not say.
func (r *Registry) options() []cluster.Option {
	var options []cluster.Option
	if r.Serverless {
		options = append(options, cluster.WithServerless())
	}
	if r.IAMUser != "" {
		options = append(options, cluster.WithIAM(cluster.IAM{
			User: r.IAMUser, Cache: r.CacheName, Region: r.Region, Credentials: r.Credentials,
		}))
	}
	return options
}

// Open returns the registry. Nothing is dialled yet.
func (r *Registry) Open() (*cluster.Registry, error) {
	if r.URL == "" {
		return nil, errors.New("no registry is named: set DETOUR_REDIS_URL, or give --redis")
	}
	client, err := cluster.Dial(r.URL, r.Timeout, r.options()...)
	if err != nil {
		return nil, err
	}
	return cluster.NewRegistry(client, r.Cluster)
}

func (c *Choice) check() error {
	var err error
	if c.MaxRedirects < 1 || c.MaxRedirects > 20 {
		err = fmt.Errorf("DETOUR_MAX_REDIRECTS=%d is not 1 to 20, the most that browsers follow", c.MaxRedirects)
	}
	if !httpguts.ValidHeaderFieldName(c.SessionCookie) {
		err = errors.Join(err, fmt.Errorf("DETOUR_SESSION_COOKIE=%.80q is no name of a cookie: a token (RFC 6265 §4.1.1)", c.SessionCookie))
	}
	if c.PassKey != "" && len(c.PassKey) < redirect.MinPassKey {
		err = errors.Join(err, fmt.Errorf("DETOUR_PASS_KEY has %d bytes, not at least %d", len(c.PassKey), redirect.MinPassKey))
	}
	for _, h := range c.AllowedHosts {
		if strings.Contains(h, "/") || cluster.CheckEndpoint("https://"+h) != nil {
			err = errors.Join(err, fmt.Errorf("DETOUR_ALLOWED_HOSTS: %.80q is no host name, nor one with a port", h))
		}
	}
	return err
}

// Redirector returns the configuration of decisions.
func (c *Choice) Redirector(l Liveness) redirect.Config {
	return redirect.Config{
		Selection:    selection.Config{Policy: c.Policy, PulseTimeout: l.PulseTimeout, FadeIn: c.FadeIn},
		MaxRedirects: c.MaxRedirects, RetryAfter: c.RetryAfter, Origins: c.Origins, Carrier: c.Carrier,
		AllowedHosts: c.AllowedHosts, CORSOrigins: c.CORSOrigins, CORSCredentials: bool(c.CORSCredentials),
		TrustForwardedPath: bool(c.TrustForwardedPath), SessionCookie: c.SessionCookie, PassKey: []byte(c.PassKey),
	}
}
