package cluster_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/pkg/cluster"
)

// content is all of a registry that moves the epoch, and the pulses, as they were
// at one instant.
type content struct {
	epoch                          int64
	nodes, reports, pauses, groups map[string]string
	figures                        map[string]string
	pulses                         []string
	events                         []redis.XMessage // the newest, newest first
}

// look reads everything in one transaction, as no reader of Detour has to.
func (c *crowd) look() (is content, ok bool) {
	ctx := c.t.Context()
	tx := c.raw.TxPipeline()
	epoch := tx.Get(ctx, prefix+":epoch")
	var hashes []*redis.MapStringStringCmd
	for _, key := range []string{"nodes", "reports", "pauses", "groups", "figures"} {
		hashes = append(hashes, tx.HGetAll(ctx, prefix+":"+key))
	}
	pulses := tx.ZRange(ctx, prefix+":pulses", 0, -1)
	events := tx.XRevRangeN(ctx, prefix+":events", "+", "-", 200)
	if _, err := tx.Exec(ctx); err != nil {
		assert.ErrorIs(c.t, err, redis.Nil, "the epoch is missing at first, nothing else")
		return content{}, false
	}
	n, err := strconv.ParseInt(epoch.Val(), 10, 64)
	assert.NoError(c.t, err)
	return content{
		epoch: n, nodes: hashes[0].Val(), reports: hashes[1].Val(), pauses: hashes[2].Val(), groups: hashes[3].Val(),
		figures: hashes[4].Val(), events: events.Val(), pulses: slices.Sorted(slices.Values(pulses.Val())),
	}, true
}

// watch looks until nobody works any more, and returns how often.
func (c *crowd) watch() (looks int) {
	var before content
	for c.active.Load() > 0 {
		c.mu.Lock()
		left := maps.Clone(c.left) // the calls of these have returned
		c.mu.Unlock()
		is, ok := c.look()
		if !ok {
			continue
		}
		c.whole(is)
		generations := c.generations(is)
		for id, g := range generations {
			assert.False(c.t, left[g], "%s has left as %s, and is back", id, g)
		}
		c.follows(before, is)
		before, looks = is, looks+1
	}
	return looks
}

// whole: no part of a record is without the others.
func (c *crowd) whole(is content) {
	ids := slices.Sorted(maps.Keys(is.nodes))
	assert.Equal(c.t, ids, slices.Sorted(maps.Keys(is.reports)), "nodes and reports")
	assert.ElementsMatch(c.t, ids, is.pulses, "nodes and pulses")
	for id := range is.figures {
		assert.Contains(c.t, is.nodes, id, "figures without a node")
	}
	for id, g := range c.generations(is) {
		var rep cluster.Report
		assert.NoError(c.t, json.Unmarshal([]byte(is.reports[id]), &rep))
		assert.Equal(c.t, g, rep.Generation, "the report is of another life")
	}
}

func (c *crowd) generations(is content) map[string]cluster.Generation {
	all := make(map[string]cluster.Generation)
	for id, body := range is.nodes {
		var d cluster.Descriptor
		assert.NoError(c.t, json.Unmarshal([]byte(body), &d))
		all[id] = d.Generation
	}
	return all
}

// prunedSince tells whether the node was pruned after the instant of before: then an
// older process under its id may be the one that registers again.
func (is content) prunedSince(before content, id string) bool {
	for _, e := range is.events {
		if len(before.events) > 0 && e.ID == before.events[0].ID {
			return false
		}
		if e.Values["kind"] == "node.pruned" && e.Values["target"] == "node:"+id {
			return true
		}
	}
	return len(is.events) == 200 // too much has happened to tell
}

// follows: the epoch never goes back and moves when anything moves, and no
// generation that stays registered from look to look goes back.
func (c *crowd) follows(before, is content) {
	assert.GreaterOrEqual(c.t, is.epoch, before.epoch)
	if is.epoch == before.epoch {
		assert.Equal(c.t, before.nodes, is.nodes, "at epoch %d", is.epoch)
		assert.Equal(c.t, before.reports, is.reports, "at epoch %d", is.epoch)
		assert.Equal(c.t, before.pauses, is.pauses, "at epoch %d", is.epoch)
		assert.Equal(c.t, before.groups, is.groups, "at epoch %d", is.epoch)
	}
	was := c.generations(before)
	for id, g := range c.generations(is) {
		assert.False(c.t, g.Less(was[id]) && !is.prunedSince(before, id), "%s went back from %s to %s", id, was[id], g)
	}
}
