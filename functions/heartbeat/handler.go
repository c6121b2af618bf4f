package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/detourhq/detour/internal/awsevents"
	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/config"
	"github.com/detourhq/detour/internal/doctor"
	"github.com/detourhq/detour/internal/sweep"
	"github.com/detourhq/detour/pkg/cluster"
)

// handler answers schedules and commands. Every field is required.
type handler struct {
	runner  *command.Runner // nil while the configuration is faulty
	outside *outside        // nil where there is no AWS to call
	every   time.Duration   // between two sweeps of one tick
	fault   error           // of the configuration
	wall    func() time.Time
	log     *slog.Logger
	metrics io.Writer // takes CloudWatch's embedded metric format
}

// newHandler wires the function from its environment. A faulty one is logged,
// and told to whoever sends a command.
func newHandler(environment map[string]string, wall func() time.Time, log *slog.Logger, metrics io.Writer) *handler {
	h := &handler{wall: wall, log: log, metrics: metrics}
	c, err := config.ReadHeartbeat(environment)
	var registry *cluster.Registry
	if err == nil {
		registry, err = c.Open()
	}
	if err != nil {
		log.Error("configuration is faulty, doing nothing", "err", err)
		h.fault = err
		return h
	}
	h.every = c.SweepEvery
	h.runner = &command.Runner{
		Cluster: c.Cluster, Registry: registry, Redirect: c.Redirector(c.Liveness), TargetGroup: c.TargetGroup, Wall: wall,
		RuleSettle: c.RuleSettle,
	}
	h.runner.Doctor = doctor.New(registry, command.DoctorConfig(c), nil, wall)
	sweeps := command.SweepConfig(c)
	if h.outside, err = newOutside(c, h.runner, wall, log); err != nil {
		log.Error("AWS is out of reach: rules and events are left alone", "err", err)
	} else if h.outside != nil {
		sweeps.Then = h.outside.afterSweep
	}
	h.runner.Sweeper = sweep.New(registry, sweeps, nil, wall, log)
	return h
}

// event is what tells the kinds of payloads apart.
type event struct {
	command.Command
	Time       time.Time `json:"time"` // of a tick: when it was due
	DetailType string    `json:"detail-type"`
}

// failure is the answer to what could not be done. Code is the CLI's exit code.
type failure struct {
	Error string `json:"error"`
	Code  int    `json:"code"`
}

// Invoke answers one payload. Its error is nil but for an event of AWS that could
// not be handled: Lambda hands that in again, and does so with nothing else, for a
// command may have been carried out already.
func (h *handler) Invoke(ctx context.Context, payload []byte) (answer []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.log.ErrorContext(ctx, "handler panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			answer, err = encode(failure{"internal error, see the function's log", 1}), nil
		}
	}()
	if events, ok, err := awsevents.Decode(payload); ok && h.fault == nil {
		return h.hear(ctx, events, err)
	}
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return encode(failure{"the payload is not a command: " + err.Error(), usageCode}), nil
	}
	return encode(h.answer(ctx, e)), nil
}

// hear answers events of AWS; fault tells what else was malformed among them.
func (h *handler) hear(ctx context.Context, events []awsevents.Event, fault error) ([]byte, error) {
	if fault != nil {
		h.log.WarnContext(ctx, "event cannot be read", "err", fault)
		if len(events) == 0 {
			return encode(failure{fault.Error(), usageCode}), nil
		}
	}
	if h.outside == nil {
		return encode(failure{command.ErrNoAWS.Error(), 1}), nil
	}
	answers, err := h.outside.hear(ctx, events)
	switch {
	case err != nil:
		h.log.ErrorContext(ctx, "event was not handled, it will come again", "err", err)
		return nil, err
	case len(answers) == 1:
		return encode(answers[0]), nil
	}
	return encode(answers), nil
}

func (h *handler) answer(ctx context.Context, e event) any {
	switch {
	case h.fault != nil:
		return failure{"configuration is faulty: " + h.fault.Error(), usageCode}
	case e.Verb == "tick":
		return h.tick(ctx, e.Time)
	case e.Verb == "":
		return failure{fmt.Sprintf("the payload names no command (detail-type %q): nothing done", e.DetailType), usageCode}
	}
	result, err := h.runner.Run(ctx, e.Command)
	if err != nil {
		h.log.WarnContext(ctx, "command was not carried out", "command", e.Verb, "err", err)
		return failure{err.Error(), codeOf(err)}
	}
	return result
}

// usageCode is the CLI's exit code for what cannot be meant.
const usageCode = 2

func codeOf(err error) int {
	if errors.Is(err, command.ErrUsage) || errors.Is(err, cluster.ErrInvalid) {
		return usageCode
	}
	return 1
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		return []byte(`{"error":"the answer cannot be encoded","code":1}`)
	}
	return body
}
