package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// PauseRequest is a pause as it is asked for: its ends are counted from the
// moment at which the registry takes it.
type PauseRequest struct {
	Mode     Mode
	Reason   string
	By       string
	For      time.Duration // zero means until resumed
	Deadline time.Duration // of a drain; zero means none
}

// Pause puts p on target, in place of a pause that it has already. When it
// returns no later decision leads there. The pause comes back as stored.
func (r *Registry) Pause(ctx context.Context, target Target, p PauseRequest) (Pause, error) {
	if p.Mode == Stop && p.For != 0 {
		return Pause{}, fmt.Errorf("%w: mode stop ends by resume only, not after a time", ErrInvalid)
	}
	if p.For < 0 || p.Deadline < 0 {
		return Pause{}, fmt.Errorf("%w: a pause cannot end before it begins", ErrInvalid)
	}
	now, err := r.Time(ctx)
	if err != nil {
		return Pause{}, fmt.Errorf("pause %s: %w", target, err)
	}
	stored := Pause{Mode: p.Mode, Reason: p.Reason, By: p.By, Since: now}
	if p.For > 0 {
		stored.Until = now.Add(p.For)
	}
	if p.Deadline > 0 {
		stored.Deadline = now.Add(p.Deadline)
	}
	body, err := encodePause(stored)
	if err != nil {
		return Pause{}, fmt.Errorf("encode pause of %s: %w", target, err)
	}
	re, err := r.runAt(ctx, now, pauseScript, target.String(), body, p.By, p.Reason)
	if err != nil {
		return Pause{}, fmt.Errorf("pause %s: %w", target, err)
	}
	stored.Epoch = re.number
	return stored, nil
}

// encodePause leaves the epoch out: the script that stores the pause adds it.
func encodePause(p Pause) ([]byte, error) {
	return json.Marshal(struct {
		Pause
		Epoch int64 `json:"epoch,omitempty"`
	}{Pause: p})
}

// Reassert puts p, which was read from the registry before the registry lost it,
// back on target. written is false if target is paused, or was resumed since p:
// then nothing changes. by names who knew it.
func (r *Registry) Reassert(ctx context.Context, target Target, p Pause, by string) (written bool, err error) {
	body, err := encodePause(p)
	if err != nil {
		return false, fmt.Errorf("encode pause of %s: %w", target, err)
	}
	for seen := "-"; ; {
		re, err := r.run(ctx, reassertScript, target.String(), body, p.Epoch, by, seen)
		if err != nil {
			return false, fmt.Errorf("re-assert pause of %s: %w", target, err)
		}
		if re.word != "more" || len(re.list) != 2 {
			return re.word == "ok", nil
		}
		newest, oldest := re.list[0], re.list[1]
		if _, resumed, err := r.resume(ctx, target, p.Epoch, oldest, seen); err != nil || resumed {
			return false, err
		}
		seen = newest
	}
}

// eventPage is how many events are read at once: a read blocks the registry too.
const eventPage = 500

// Resumption is a resume of which the events tell.
type Resumption struct {
	By string `json:"by"`
	At Millis `json:"at_ms"`
}

// LastResume returns the latest resume of target since the epoch since. ok is false
// if the events tell of none.
func (r *Registry) LastResume(ctx context.Context, target Target, since int64) (last Resumption, ok bool, err error) {
	e, ok, err := r.resume(ctx, target, since, "+", "-")
	if !ok {
		return Resumption{}, false, err
	}
	by, _ := e.Values["by"].(string)
	at, _ := e.Values["at_ms"].(string)
	ms, _ := strconv.ParseInt(at, 10, 64)
	return Resumption{By: by, At: Millis(ms)}, true, nil
}

// resume finds the latest event that resumes target, of those older than the one
// called before ("+" for all), newer than the one called seen ("-" for all) and than
// the epoch since.
func (r *Registry) resume(ctx context.Context, target Target, since int64, before, seen string) (e redis.XMessage, ok bool, err error) {
	if seen != "-" {
		seen = "(" + seen
	}
	for {
		if before != "+" {
			before = "(" + before
		}
		page, err := r.client.XRevRangeN(ctx, r.keys.events, before, seen, eventPage).Result()
		if err != nil {
			return e, false, fmt.Errorf("read events: %w", err)
		}
		for _, e := range page {
			epoch, _ := e.Values["epoch"].(string)
			if n, err := strconv.ParseInt(epoch, 10, 64); err != nil || n <= since {
				return e, false, nil
			}
			if e.Values["kind"] == "resumed" && e.Values["target"] == target.String() {
				return e, true, nil
			}
			before = e.ID
		}
		if len(page) < eventPage {
			return e, false, nil
		}
	}
}

// Resume lifts the pause on target and no other. was is false if there was none.
func (r *Registry) Resume(ctx context.Context, target Target, by, reason string) (epoch int64, was bool, err error) {
	re, err := r.run(ctx, resumeScript, target.String(), by, reason)
	if err != nil {
		return 0, false, fmt.Errorf("resume %s: %w", target, err)
	}
	return re.number, re.word == "ok", nil
}

// ChangeGroup reads the record of the group called id, an empty one if there is
// none, lets change alter it, and stores it. Fields that this version does not
// know are kept. An error of change comes back as it is; [ErrConflict] when
// others kept changing the record.
func (r *Registry) ChangeGroup(ctx context.Context, id string, change func(*Group) error) (Group, error) {
	var err error
	for range 3 {
		var g Group
		if g, err = r.changeGroupOnce(ctx, id, change); !errors.Is(err, ErrConflict) {
			return g, err
		}
	}
	return Group{}, err
}

func (r *Registry) changeGroupOnce(ctx context.Context, id string, change func(*Group) error) (Group, error) {
	old, err := r.field(ctx, r.keys.groups, id)
	if err != nil {
		return Group{}, fmt.Errorf("read group %s: %w", id, err)
	}
	var g Group
	if old != "" && json.Unmarshal([]byte(old), &g) != nil {
		g = Group{} // an unreadable record is replaced
	}
	g.ID = id
	if err := change(&g); err != nil {
		return g, err
	}
	if err := g.Check(); err != nil {
		return g, err
	}
	body, err := mergeUnknown(old, g)
	if err != nil {
		return g, fmt.Errorf("encode group %s: %w", id, err)
	}
	if _, err := r.run(ctx, groupScript, id, old, body); err != nil {
		return g, fmt.Errorf("store group %s: %w", id, err)
	}
	return g, nil
}

// RemoveGroup removes the record of the group called id; its nodes stay. was is
// false if there was none.
func (r *Registry) RemoveGroup(ctx context.Context, id string) (was bool, err error) {
	old, err := r.field(ctx, r.keys.groups, id)
	if err != nil || old == "" {
		return false, err
	}
	if _, err := r.run(ctx, groupScript, id, old, ""); err != nil {
		return false, fmt.Errorf("remove group %s: %w", id, err)
	}
	return true, nil
}

// mergeUnknown encodes g and adds the members of old, a JSON object, that Group
// has no field for.
func mergeUnknown(old string, g Group) ([]byte, error) {
	body, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(old), &members) != nil {
		return body, nil
	}
	for f := range reflect.TypeFor[Group]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(members, name)
	}
	if len(members) == 0 {
		return body, nil
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}
