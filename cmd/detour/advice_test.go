package main

import (
	"context"
	"errors"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
)

func TestAnErrorOfTheRegistrySaysWhatToDo(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		do   string // empty means nothing
	}{
		{"no password", errors.New("NOAUTH Authentication required."), "USER:PASSWORD@"},
		{"a wrong one", errors.New("WRONGPASS invalid username-password pair"), "USER:PASSWORD@"},
		{"a right that is lacking", errors.New("NOPERM User x has no permissions"), "docs/registry.acl"},
		{"a replica", errors.New("READONLY You can't write against a read only replica."), "name its primary"},
		{"no cluster", errors.New("ERR This instance has cluster support disabled"), "leave ?cluster=true off"},
		{"a cluster", errors.New("MOVED 5 127.0.0.1:1"), "add ?cluster=true"},
		{"nobody listens", errors.New("read registry: dial tcp 127.0.0.1:1: connect: connection refused"), "DETOUR_REDIS_URL"},
		{"nobody answers in time", errors.New("read registry: i/o timeout"), "DETOUR_REDIS_URL"},
		{"AWS, though nobody listens there", &smithy.OperationError{OperationName: "DescribeRules", Err: errors.New("dial tcp")}, "allow DescribeRules"},
		{"nobody answers", context.DeadlineExceeded, "rediss://"},
		{"something else", errors.New("cluster: invalid"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := advise(row.err)
			assert.ErrorIs(t, err, row.err)
			var help *advised
			if row.do == "" {
				assert.NotErrorAs(t, err, &help)
			} else if assert.ErrorAs(t, err, &help) {
				assert.Contains(t, help.do, row.do)
			}
		})
	}
}

func TestAdviceFollowsTheError(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("secret")
	s := shell{t, map[string]string{"DETOUR_REDIS_URL": "redis://" + server.Addr()}}
	code, stdout, stderr := s.call("pause", "all", "--json")
	assert.Equal(t, failed, code)
	assert.Empty(t, stdout)
	assert.Regexp(t, `^detour: .*NOAUTH.*\n  → name user and password .*\n$`, stderr)
}

func TestACommandThatIsInterruptedSaysSo(t *testing.T) {
	s := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr := s.callWithin(ctx, "status")
	assert.Equal(t, failed, code)
	assert.Contains(t, stderr, "detour: interrupted: ")
}

func TestAFunctionWantsARegion(t *testing.T) {
	withoutAWS(t)
	code, _, stderr := shell{t, nil}.call("status", "--function", "detour-heartbeat")
	assert.Equal(t, usage, code)
	assert.Contains(t, stderr, "set AWS_REGION")
}
