package rules

import (
	"context"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// How often, and how soon, a call is made again that AWS would not take now.
const (
	throttleTries = 5
	throttlePause = 250 * time.Millisecond // doubled each time
)

type operation[In, Out any] func(context.Context, *In, ...func(*elb.Options)) (*Out, error)

// call makes one call, and makes it again while it is throttled. before is asked
// ahead of each try and may refuse it. verb is for people.
func call[In, Out any](ctx context.Context, r *Reconciler, verb string, do operation[In, Out], in *In, before func(context.Context) error) (*Out, error) {
	for try := 1; ; try++ {
		if err := before(ctx); err != nil {
			return nil, err
		}
		out, err := once(ctx, r.config.CallTimeout, do, in)
		if err == nil {
			return out, nil
		}
		if !isThrottled(err) || try == throttleTries {
			return nil, judge(ctx, verb, err)
		}
		if err := sleep(ctx, throttlePause<<(try-1)); err != nil {
			return nil, judge(ctx, verb, err)
		}
	}
}

func once[In, Out any](ctx context.Context, timeout time.Duration, do operation[In, Out], in *In) (*Out, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return do(ctx, in)
}

// always lets every try pass: reads are not paced, AWS allows ten times as many.
func always(context.Context) error { return nil }
