package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// primary returns the client of the primary that holds the cluster's slot: a
// command without a key, such as TIME, would go to any. It may turn out not to be
// that; [Registry.read] is for what can be asked again.
func (r *Registry) primary(ctx context.Context) (redis.Cmdable, error) {
	if c, ok := r.client.(*members); ok {
		return c.primary(ctx, r.keys.epoch)
	}
	return r.client, nil
}

// read has ask read from the primary. Where that fails for having asked the wrong
// member of a cluster, or one that is gone, it has it ask the right one.
func (r *Registry) read(ctx context.Context, ask func(redis.Cmdable) error) error {
	p, err := r.primary(ctx)
	if err == nil {
		err = ask(p)
	}
	c, ok := r.client.(*members)
	if err == nil || !ok || !c.doubted.Load() || ctx.Err() != nil {
		return err
	}
	if p, err = r.primary(ctx); err != nil {
		return err
	}
	return ask(p)
}

// members is the client of a cluster with members to choose from. The library's
// own follows MOVED, but goes on asking a primary that cannot be reached, and
// where it reloads the slots, it does so in the background and without the
// caller's deadline. This one reloads them before the next read once a member
// gave reason to doubt them.
type members struct {
	*redis.ClusterClient
	doubted atomic.Bool
}

func newMembers(o *redis.ClusterOptions) *members {
	c := &members{ClusterClient: redis.NewClusterClient(o)}
	c.OnNewNode(func(member *redis.Client) { member.AddHook(doubts{&c.doubted}) })
	return c
}

func (c *members) primary(ctx context.Context, key string) (redis.Cmdable, error) {
	if c.doubted.Swap(false) {
		c.reload(ctx)
	}
	p, err := c.MasterForKey(ctx, key)
	if err != nil {
		c.doubted.Store(true)
		return nil, fmt.Errorf("find the primary: %w", err)
	}
	return p, nil
}

// reload asks a member, any, who holds which slots, and another one if that takes
// longer than a third of the budget: it may be the very one that stands still.
// Where nobody answers, the last known ones stay.
func (c *members) reload(ctx context.Context) {
	for range 2 {
		part, cancel := context.WithTimeout(ctx, c.Options().ReadTimeout/3)
		// Of all that loads the slots this alone obeys the context.
		_ = c.ForEachMaster(part, func(context.Context, *redis.Client) error { return nil })
		late := part.Err() != nil
		cancel()
		if !late {
			return
		}
	}
}

// doubts is a hook that notices what a member does not answer, or answers for not
// holding the slot.
type doubts struct{ doubted *atomic.Bool }

// DialHook changes nothing: who cannot be dialled does not answer, see forgiving.
func (doubts) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook looks at a single command's error.
func (d doubts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return d.notice(next(ctx, cmd)) }
}

// ProcessPipelineHook looks at the error of the first command, or of all.
func (d doubts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return d.notice(next(ctx, cmds)) }
}

// elsewhere are the replies of members that do not hold the slot, or not yet, or
// no longer.
var elsewhere = []string{"MOVED", "ASK", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "LOADING"}

func (d doubts) notice(err error) error {
	var reply redis.Error
	if err != nil && (!errors.As(err, &reply) || slices.ContainsFunc(elsewhere, func(p string) bool { return redis.HasErrorPrefix(err, p) })) {
		d.doubted.Store(true)
	}
	return err
}

// lookAtEpoch queues a look at the epoch that nobody but a primary answers: GETEX
// without options, which does what GET does and changes nothing, but counts as a
// command that writes (Redis 6.2, Valkey). A primary that became a replica would
// go on answering GET over a connection that nobody closes, and a pause be
// overlooked for as long. It refuses GETEX with READONLY, for which the client
// closes the connection, resolves the name again and tries once more (go-redis,
// error.go). ROLE would tell the same, but is an operator's command.
//
// What GETEX cannot tell is a primary that was replaced and does not know it yet.
// In a cluster that one stops to answer after cluster-node-timeout; elsewhere
// min-replicas-to-write makes it refuse this look too.
func (r *Registry) lookAtEpoch(ctx context.Context, p redis.Cmdable) *redis.StringCmd {
	const untouched = -1
	return p.GetEx(ctx, r.keys.epoch, untouched)
}
