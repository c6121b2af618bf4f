//go:build unix

package recipes

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/detourhq/detour/internal/buildtest"
)

// instanceID is what the metadata service calls the machine.
const instanceID = "i-0123456789abcdef0"

// machine is an instance of an image with detour, the units of the recipe and of an
// application, and the metadata service.
type machine struct {
	*world
	systemd *systemd
	address string // of the application
	more    []string
}

// newMachine boots an instance; the unit of the agent is edited.
func newMachine(w *world, edits ...edit) *machine {
	m := &machine{world: w, systemd: newSystemd(w), address: w.address()}
	units := filepath.Join(w.root, "etc/systemd/system")
	place(w.t, filepath.Join(units, "detour-agent.service"), recipe(w.t, "asg/detour-agent.service", edits...), 0o644)
	application, err := os.ReadFile("testdata/units/app.service")
	require.NoError(w.t, err)
	place(w.t, filepath.Join(units, "app.service"), string(application), 0o644)
	place(w.t, filepath.Join(w.root, "etc/app.env"), "APP_LISTEN='"+m.address+"'\n", 0o644)
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.root, "usr/local/bin"), 0o755))
	require.NoError(w.t, os.Symlink(buildtest.Program(w.t, detour), filepath.Join(w.root, "usr/local/bin/detour")))

	metadata := httptest.NewServer(http.HandlerFunc(serveMetadata))
	w.t.Cleanup(metadata.Close)
	control := httptest.NewServer(http.HandlerFunc(m.serveControl))
	w.t.Cleanup(control.Close)
	m.more = []string{"DESTDIR=" + w.root, "SYSTEMD=" + control.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + metadata.URL + "/"}
	m.systemd.more = []string{"AWS_EC2_METADATA_SERVICE_ENDPOINT=" + metadata.URL + "/", "AWS_EC2_METADATA_DISABLED=false"}
	return m
}

// boot runs the user data, as root's shell does at the first start.
func (m *machine) boot(settings ...string) {
	m.t.Helper()
	endpoint := "http://" + m.address
	require.NoError(m.t, m.sh(filepath.Join(root, "docs/recipes/asg/user-data.sh"), append([]string{
		"NODE_ENDPOINT=" + endpoint, "NODE_PROBE=" + endpoint + "/health", "DETOUR_REDIS_URL=" + m.redis.URL,
	}, settings...)...))
}

// sh runs a script by the system's sh.
func (m *machine) sh(script string, environment ...string) error {
	cmd := exec.CommandContext(m.t.Context(), "sh", script)
	cmd.Env = m.environment(append(m.more[:len(m.more):len(m.more)], environment...)...)
	said, err := cmd.CombinedOutput()
	fmt.Fprintf(m.log, "%s: %v\n%s", filepath.Base(script), err, said)
	if err != nil {
		return fmt.Errorf("run %s: %w", script, err)
	}
	return nil
}

// serveMetadata is version 2 of the instance metadata service.
func serveMetadata(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
		w.Header().Set("X-aws-ec2-metadata-token-ttl-seconds", "60")
		_, _ = io.WriteString(w, "made-up-token")
	case r.Header.Get("X-aws-ec2-metadata-token") != "made-up-token":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/latest/meta-data/instance-id":
		_, _ = io.WriteString(w, instanceID)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// serveControl answers a call of systemctl with its exit code (systemctl(1), "Exit
// status").
func (m *machine) serveControl(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	code := 0
	if err := m.systemctl(strings.Fields(string(body))); err != nil { //nolint:contextcheck // what it starts outlives the call
		fmt.Fprintf(m.log, "systemctl %s: %v\n", body, err)
		switch {
		case errors.Is(err, errInactive):
			code = 3
		case errors.Is(err, errNoUnit):
			code = 5
		default:
			code = 1
		}
	}
	fmt.Fprint(w, code)
}

var errInactive = errors.New("inactive")

func (m *machine) systemctl(args []string) error {
	s := m.systemd
	unit := args[len(args)-1]
	switch strings.Join(args[:len(args)-1], " ") {
	case "":
		if unit == "daemon-reload" {
			return nil
		}
	case "is-active --quiet":
		if !s.active(unit) {
			return errInactive
		}
		return nil
	case "enable":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.enabled = append(s.enabled, unit)
		return nil
	case "start":
		return s.job(func() error { return s.start(unit) })
	case "stop":
		return s.job(func() error { return s.stop(unit) })
	}
	return fmt.Errorf("the stand-in does not know %q", args)
}
