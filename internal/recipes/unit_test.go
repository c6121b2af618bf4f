//go:build unix

package recipes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unit is a unit file as systemd.syntax(7) has it: "Section.Key" → values.
type unit map[string][]string

// meant are the settings that the stand-in carries out, or may pass over: true are
// those that only count on a real system.
var meant = map[string]bool{
	"Unit.Description": true, "Unit.Wants": true, "Unit.After": false, "Unit.BindsTo": false,
	"Unit.StartLimitIntervalSec": true, "Unit.StartLimitBurst": true,
	"Service.Type": true, "Service.User": true, "Service.Group": true, "Service.RuntimeDirectoryMode": true,
	"Service.RuntimeDirectory": false, "Service.EnvironmentFile": false, "Service.Environment": false, "Service.ExecStart": false,
	"Service.KillMode": false, "Service.KillSignal": false, "Service.TimeoutStopSec": false,
	"Service.Restart": false, "Service.RestartSec": false, "Service.RestartPreventExitStatus": false,
	"Install.WantedBy": false,
}

func parseUnit(text string) (unit, error) {
	u, section := unit{}, ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch key, value, ok := strings.Cut(line, "="); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
		case !ok:
			return nil, fmt.Errorf("line %d is no assignment", i+1)
		default:
			name := section + "." + strings.TrimSpace(key)
			if _, known := meant[name]; !known {
				return nil, fmt.Errorf("line %d: the stand-in does not know %s", i+1, name)
			}
			u[name] = append(u[name], strings.TrimSpace(value))
		}
	}
	return u, nil
}

// words are those of all values of a list setting.
func (u unit) words(name string) []string { return strings.Fields(strings.Join(u[name], " ")) }

// one is the last value of a setting; otherwise where there is none.
func (u unit) one(name, otherwise string) string {
	if v := u[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return otherwise
}

// seconds is a time span, in seconds as all of the recipes' are.
func (u unit) seconds(name, otherwise string) (time.Duration, error) {
	n, err := strconv.Atoi(u.one(name, otherwise))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return time.Duration(n) * time.Second, nil
}

// prevents reports whether an exit code is one after which the unit stays down.
func (u unit) prevents(code int) bool {
	return slices.Contains(u.words("Service.RestartPreventExitStatus"), strconv.Itoa(code))
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)\}`)

// command returns the command line with its variables and the specifier %t, on a
// machine whose folders are in root (systemd.service(5), "Command lines"). A
// variable that is not set is refused, not empty: no recipe means that.
func (u unit) command(root string, environment []string) ([]string, error) {
	line := strings.ReplaceAll(u.one("Service.ExecStart", ""), "%t", filepath.Join(root, "run"))
	if line == "" || strings.ContainsAny(line, `%'"\;`) {
		return nil, fmt.Errorf("the stand-in does not read ExecStart=%s", line)
	}
	var missing error
	argv := strings.Fields(line)
	for i, word := range argv {
		argv[i] = variable.ReplaceAllStringFunc(word, func(name string) string {
			name = name[2 : len(name)-1]
			for _, e := range slices.Backward(environment) {
				if n, value, _ := strings.Cut(e, "="); n == name {
					return value
				}
			}
			missing = errors.Join(missing, fmt.Errorf("%s is not set", name))
			return ""
		})
	}
	argv[0] = filepath.Join(root, argv[0])
	return argv, missing
}

// settings returns what Environment= and EnvironmentFile= say.
func (u unit) settings(root string) ([]string, error) {
	var all []string
	for _, e := range u["Service.Environment"] {
		all = append(all, strings.ReplaceAll(e, "%t", filepath.Join(root, "run")))
	}
	for _, path := range u["Service.EnvironmentFile"] {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			inner, quoted := strings.CutPrefix(value, "'")
			if quoted {
				inner, quoted = strings.CutSuffix(inner, "'")
			}
			if !ok || !quoted || strings.Contains(inner, "'") {
				return nil, fmt.Errorf("%s: %s is not NAME='VALUE'", path, name)
			}
			all = append(all, name+"="+inner)
		}
	}
	return all, nil
}
