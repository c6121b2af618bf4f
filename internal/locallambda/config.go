package locallambda

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/detourhq/detour/internal/child"
)

const (
	// MaxPayload is the most that a synchronous invocation may carry either
	// way, in bytes (AWS, "Lambda quotas": 6 MB each).
	MaxPayload = 6 << 20

	// initTimeout is how long a copy may take from its start to its first
	// request for work (AWS, "Lambda execution environment lifecycle").
	initTimeout = 10 * time.Second

	account = "123456789012" // of the function's made-up ARN
)

// Config describes a function. Only Binary is required.
type Config struct {
	Binary string            // path of an executable built for this machine
	Name   string            // function name; empty means "function"
	Env    map[string]string // the function's environment variables
	Region string            // empty means us-east-1

	Memory  int           // MB, told to the function but not enforced; 0 means 128
	Timeout time.Duration // of one invocation; 0 means Lambda's default of 3 s

	// Copies is how many copies may run at the same time; 0 means 1. An
	// invocation beyond that gets ErrThrottled, or waits its turn if
	// WaitForCopy is set.
	Copies      int
	WaitForCopy bool

	// NoFreeze lets idle copies run on. By default they are stopped, as on
	// Lambda, where the system can do that (any Unix).
	NoFreeze bool

	// Log receives what the copies write to stdout and stderr, one Write at a
	// time; nil discards it.
	Log io.Writer
}

func (c Config) withDefaults() (Config, error) {
	if c.Binary == "" {
		return c, errors.New("locallambda: no binary given")
	}
	path, err := filepath.Abs(c.Binary)
	if err != nil {
		return c, fmt.Errorf("locallambda: find binary: %w", err)
	}
	if _, err := exec.LookPath(path); err != nil {
		return c, fmt.Errorf("locallambda: find binary: %w", err)
	}
	c.Binary = path
	c.Name = cmp.Or(c.Name, "function")
	c.Region = cmp.Or(c.Region, "us-east-1")
	c.Memory = cmp.Or(c.Memory, 128)
	c.Timeout = cmp.Or(c.Timeout, 3*time.Second)
	c.Copies = cmp.Or(c.Copies, 1)
	c.NoFreeze = c.NoFreeze || !child.CanStop
	if c.Log != nil {
		c.Log = &lockedWriter{w: c.Log}
	}
	return c, nil
}

func (c Config) arn() string {
	return "arn:aws:lambda:" + c.Region + ":" + account + ":function:" + c.Name
}

// environ returns the whole environment of the copy called stream whose
// Runtime API listens on api. Nothing of this process's own gets through but
// PATH and HOME (AWS, "Defined runtime environment variables").
func (c Config) environ(api, stream string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + os.Getenv("HOME"),
		"TZ=:UTC",
		"AWS_REGION=" + c.Region,
		"AWS_DEFAULT_REGION=" + c.Region,
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_FUNCTION_NAME=" + c.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(c.Memory),
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + c.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + stream,
		"LAMBDA_TASK_ROOT=" + filepath.Dir(c.Binary),
		"_HANDLER=" + filepath.Base(c.Binary),
	}
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	return env
}
