//go:build unix

package recipes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// appSpec is what the stand-in reads of appspec.yml (AWS CodeDeploy User Guide,
// "AppSpec File structure").
type appSpec struct {
	Version string `yaml:"version"`
	OS      string `yaml:"os"`
	Files   []struct {
		Source      string `yaml:"source"`
		Destination string `yaml:"destination"`
	} `yaml:"files"`
	Existing string              `yaml:"file_exists_behavior"`
	Hooks    map[string][]script `yaml:"hooks"`
}

type script struct {
	Location string `yaml:"location"`
	Timeout  int    `yaml:"timeout"` // seconds
}

// lifecycle are the events of an in-place deployment behind a load balancer, in
// order ("AppSpec 'hooks' section for an EC2/On-Premises deployment").
var lifecycle = []string{
	"BeforeBlockTraffic", "BlockTraffic", "AfterBlockTraffic", "ApplicationStop", "DownloadBundle", "BeforeInstall", "Install",
	"AfterInstall", "ApplicationStart", "ValidateService", "BeforeAllowTraffic", "AllowTraffic", "AfterAllowTraffic",
}

// former are the events whose scripts come from the revision that was deployed last
// with success, if there was one.
var former = map[string]bool{"BeforeBlockTraffic": true, "AfterBlockTraffic": true, "ApplicationStop": true}

// codeDeploy stands in for CodeDeploy and its agent on one machine.
type codeDeploy struct {
	*machine
	good        string // the revision deployed last with success; empty where there was none
	deployments int
	ran         []string // "Event script" of the last deployment
}

// bundle makes a revision: the recipe's files and the application.
func (c *codeDeploy) bundle(version string, edits ...edit) string {
	c.t.Helper()
	dir, err := os.MkdirTemp(c.root, "revision-")
	require.NoError(c.t, err)
	place(c.t, filepath.Join(dir, "appspec.yml"), recipe(c.t, "codedeploy/appspec.yml"), 0o644)
	for _, name := range []string{"node.sh", "start.sh", "stop.sh", "validate.sh"} {
		var own []edit
		if name == "stop.sh" {
			own = edits
		}
		place(c.t, filepath.Join(dir, "scripts", name), recipe(c.t, "codedeploy/scripts/"+name, own...), 0o755)
	}
	install(c.t, filepath.Join(dir, "app"), version)
	return dir
}

// deploy deploys a revision. The error names the event that failed.
func (c *codeDeploy) deploy(revision string) error {
	c.deployments++
	c.ran = nil
	for _, event := range lifecycle {
		if err := c.pass(event, revision); err != nil {
			return fmt.Errorf("%s: %w", event, err)
		}
	}
	c.good = revision
	return nil
}

// pass does what happens at an event: CodeDeploy's own part, or the scripts.
func (c *codeDeploy) pass(event, revision string) error {
	switch event {
	case "BlockTraffic":
		return c.alb.Deregister("blue", c.address)
	case "DownloadBundle":
		return nil
	case "Install":
		return c.install(revision)
	case "AllowTraffic":
		if err := c.alb.Register("blue", c.address); err != nil {
			return err
		}
		c.healthy(c.address)
		return nil
	}
	if former[event] {
		if revision = c.good; revision == "" {
			return nil
		}
	}
	spec, err := readAppSpec(revision)
	if err != nil {
		return err
	}
	for _, s := range spec.Hooks[event] {
		if err := c.run(event, revision, s); err != nil {
			return err
		}
	}
	return nil
}

func readAppSpec(revision string) (appSpec, error) {
	file, err := os.Open(filepath.Join(revision, "appspec.yml"))
	if err != nil {
		return appSpec{}, err
	}
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	var spec appSpec
	err = decoder.Decode(&spec)
	for event := range spec.Hooks {
		if !strings.Contains(strings.Join(lifecycle, " "), event) {
			err = errors.Join(err, fmt.Errorf("there is no event %s", event))
		}
	}
	return spec, err
}

// run runs a hook's script as the agent does: directly, with no input, in a process
// group that ends with the time limit, and with these variables beside its own
// environment (aws/aws-codedeploy-agent, hook_executor.rb).
func (c *codeDeploy) run(event, revision string, s script) error {
	c.ran = append(c.ran, event+" "+filepath.Base(s.Location))
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(s.Timeout)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(revision, s.Location))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	cmd.Dir = "/"
	cmd.Env = c.environment(append(c.more[:len(c.more):len(c.more)],
		"LIFECYCLE_EVENT="+event, fmt.Sprintf("DEPLOYMENT_ID=d-%d", c.deployments), "APPLICATION_NAME=shop", "DEPLOYMENT_GROUP_NAME=blue")...)
	said, err := cmd.CombinedOutput()
	fmt.Fprintf(c.log, "%s %s: %v\n%s", event, s.Location, err, said)
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", s.Location, err, said)
	}
	return nil
}

// install copies what the revision's files section names, to where it says.
func (c *codeDeploy) install(revision string) error {
	spec, err := readAppSpec(revision)
	if err != nil {
		return err
	}
	for _, f := range spec.Files {
		to := filepath.Join(c.root, f.Destination)
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.CopyFS(to, os.DirFS(filepath.Join(revision, f.Source))); err != nil {
			return err
		}
	}
	return nil
}
