package rules

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/detourhq/detour/pkg/cluster"
	"github.com/detourhq/detour/pkg/selection"
)

// api is what rules need of an [elb.Client]. It is best made without retries
// ([aws.NopRetryer]): what is throttled is tried again here, within other limits.
type api interface {
	DescribeRules(context.Context, *elb.DescribeRulesInput, ...func(*elb.Options)) (*elb.DescribeRulesOutput, error)
	DescribeTags(context.Context, *elb.DescribeTagsInput, ...func(*elb.Options)) (*elb.DescribeTagsOutput, error)
	DescribeTargetHealth(context.Context, *elb.DescribeTargetHealthInput, ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error)
	DescribeTargetGroupAttributes(context.Context, *elb.DescribeTargetGroupAttributesInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error)
	ModifyRule(context.Context, *elb.ModifyRuleInput, ...func(*elb.Options)) (*elb.ModifyRuleOutput, error)
	ModifyListener(context.Context, *elb.ModifyListenerInput, ...func(*elb.Options)) (*elb.ModifyListenerOutput, error)
	AddTags(context.Context, *elb.AddTagsInput, ...func(*elb.Options)) (*elb.AddTagsOutput, error)
	RemoveTags(context.Context, *elb.RemoveTagsInput, ...func(*elb.Options)) (*elb.RemoveTagsOutput, error)
}

// Config says whose rules are moved, and how fast.
type Config struct {
	Cluster          string // stands in the tags
	TargetGroup      string // ARN of the redirect function's target group, for groups that name none
	AllowDefaultRule bool   // whether a listener's default rule is moved, by ModifyListener

	Selection selection.Config // by which a node is offered: a rule is not moved where nobody is

	WritesPerSecond float64       // calls that change something; zero means 2
	CallTimeout     time.Duration // of one call, and of reading back one write; zero means 2 s

	// Busy tells why something else is about to change rule, one of g's, empty if
	// nothing is: a deployment in progress, or a service of one of g's sources that
	// has this rule. It is asked before a write. nil means nothing ever is.
	Busy func(ctx context.Context, g cluster.Group, rule string) (why string, err error)
}

// Options say how one pass is made. The zero value is that of a sweep.
type Options struct {
	DryRun  bool // write nothing, and tell what would be written
	Adopt   bool // what a foreign rule is now becomes what it rests on
	Restore bool // put rules back that a lost registry has left moved
	Force   bool // move where nobody is offered, in a drain, and back to targets that are not healthy

	Only     []string // ARNs of the rules to look at, listed by a group or not; empty means all that are known
	MaxRules int      // how many rules are changed; zero means any number

	// Epoch reads the registry's epoch. It is asked before each write; once it is
	// not the snapshot's any more, nothing is written. nil means that nobody asks.
	Epoch func(context.Context) (int64, error)

	// Save stores what is remembered of one rule. It is called before a rule is
	// written, so that a pass that is cut off is known to the next one; without it
	// that one finds tags alone, as after a loss of the registry. nil means that
	// nothing is stored.
	Save func(ctx context.Context, rule string, m RuleMemory) error
}

// Reconciler makes rules what the registry wants. It is safe for concurrent use;
// all its passes share the rate of writes.
type Reconciler struct {
	api    api
	config Config
	limit  *limiter
	now    func() time.Time
	log    *slog.Logger
}

// New returns a reconciler through a, an [elb.Client]. now is the machine's clock,
// which only paces calls; log is told of each rule whose state changes.
func New(a api, c Config, now func() time.Time, log *slog.Logger) *Reconciler {
	c.WritesPerSecond = cmp.Or(c.WritesPerSecond, 2)
	c.CallTimeout = cmp.Or(c.CallTimeout, 2*time.Second)
	return &Reconciler{api: a, config: c, limit: newLimiter(c.WritesPerSecond, now), now: now, log: log}
}
