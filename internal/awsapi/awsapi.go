// Package awsapi makes the clients of AWS that the heartbeat function and the CLI
// call. They do not retry by themselves: a sweep comes again in ten seconds, and
// whoever calls paces and bounds its own calls.
package awsapi

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/codedeploy"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/detourhq/detour/internal/awsevents"
	"github.com/detourhq/detour/internal/doctor"
	"github.com/detourhq/detour/internal/rules"
)

// Load reads Region and credentials as every AWS tool does. ok is false where no
// Region is set: then there is no AWS to call. Nothing is called yet.
func Load(ctx context.Context) (c aws.Config, ok bool, err error) {
	c, err = config.LoadDefaultConfig(ctx, config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
	if err != nil {
		return c, false, fmt.Errorf("read AWS settings: %w", err)
	}
	return c, c.Region != "", nil
}

// Rules returns a reconciler of listener rules, which leaves those alone that
// [Busy] tells of.
func Rules(c aws.Config, r rules.Config, now func() time.Time, log *slog.Logger) *rules.Reconciler {
	r.Busy = Busy(c)
	return rules.New(elb.NewFromConfig(c), r, now, log)
}

// Doctor returns what a doctor asks of AWS. r judges the rules.
func Doctor(c aws.Config, r *rules.Reconciler) *doctor.AWS {
	return &doctor.AWS{Rules: r, Balancer: elb.NewFromConfig(c), AutoScaling: autoscaling.NewFromConfig(c)}
}

// Events returns the clients of those services that wait for answers.
func Events(c aws.Config) awsevents.Clients {
	return awsevents.Clients{AutoScaling: autoscaling.NewFromConfig(c), CodeDeploy: codedeploy.NewFromConfig(c)}
}
