package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/detourhq/detour/internal/command"
	"github.com/detourhq/detour/internal/doctor"
)

// withoutAWS leaves no Region to call.
func withoutAWS(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

func TestTheDoctorsExitCodeSaysWhetherAnythingIsWrong(t *testing.T) {
	withoutAWS(t)
	s := newShell(t)
	code, stdout, stderr := s.call("doctor")
	assert.Equal(t, failed, code)
	assert.Contains(t, stdout, "wrong: sweep\n  no sweep was ever made", "the finding,")
	assert.Contains(t, stdout, "\n  → look whether the heartbeat function is invoked", "and what to do")
	assert.Contains(t, stderr, "skipped rule, rule-forward, ")
	assert.NotContains(t, stderr, "detour: failed", "it has said all")

	s.ok("sweep")
	s.register("b1", "blue") // has no figures, and no peers
	report := object[doctor.Report](s, "doctor")
	assert.Zero(t, report.Wrong, "%v", report.Findings)
	assert.Equal(t, 2, report.Warnings, "warnings are nothing wrong: %v", report.Findings)

	s.ok("group", "put", "blue", "--fallback", "gren")
	code, stdout, _ = s.call("doctor", "--json")
	assert.Equal(t, failed, code)
	assert.Contains(t, stdout, `"wrong":1`)
	code, _, _ = s.call("doctor", "now")
	assert.Equal(t, usage, code)
}

func TestARuleForLargeBodiesHasItsTargetGroup(t *testing.T) {
	s := newShell(t)
	s.ok("group", "put", "blue", "--large-body-rule", "arn:rule", "--large-body-target-group", "arn:green")
	g := object[command.Groups](s, "group", "list").Groups[0]
	assert.Equal(t, "arn:rule", g.LargeBodyRule)
	assert.Equal(t, "arn:green", g.LargeBodyTargetGroup)
	code, _, stderr := s.call("group", "put", "blue", "--large-body-rule", "")
	assert.Equal(t, usage, code)
	assert.Contains(t, stderr, "go together")
	s.ok("group", "put", "blue", "--large-body-rule", "", "--large-body-target-group", "")
}
