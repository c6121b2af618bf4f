package template

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	tomlSection = regexp.MustCompile(`^\[([a-z_]+)\.([a-z_]+)\.parameters\]$`)
	tomlKey     = regexp.MustCompile(`^([a-z0-9_]+) = (.*)$`)
	override    = regexp.MustCompile(`^  "(\w+)=(.*)",$`)
)

// samconfig returns the file's values by section, as they are written, and the
// overrides of parameters, one a line, by environment.
func samconfig(text string) (values map[string]string, overrides map[string][]string) {
	values, overrides = make(map[string]string), make(map[string][]string)
	var environment, command string
	for _, line := range strings.Split(text, "\n") {
		if m := tomlSection.FindStringSubmatch(line); m != nil {
			environment, command = m[1], m[2]
		} else if m := tomlKey.FindStringSubmatch(line); m != nil {
			values[environment+"."+command+"."+m[1]] = m[2]
		} else if m := override.FindStringSubmatch(line); m != nil {
			overrides[environment] = append(overrides[environment], m[1]+"="+m[2])
		}
	}
	return values, overrides
}

// samconfigFits knows that an environment inherits nothing from default but
// [default.global], that a cached build is stale, and that a value ends at ", "
// (github.com/aws/aws-sam-cli: issues 4662, 2253; samcli/lib/config/samconfig.py).
func samconfigFits(h house) []string {
	var f faults
	values, overrides := samconfig(h.files["samconfig.toml"])
	f.want("environments", slices.Sorted(maps.Keys(overrides)), []string{"default", "prod"})
	for environment, list := range overrides {
		for key, want := range map[string]string{
			"build.build_in_source": "true", "build.parallel": "true", "build.cached": "", "validate.lint": "true",
			"deploy.capabilities": `"CAPABILITY_IAM"`, "deploy.resolve_s3": "true", "deploy.s3_bucket": "", "deploy.confirm_changeset": "true",
			"deploy.fail_on_empty_changeset": "false",
		} {
			f.want(environment+" "+key, values[environment+"."+key], want)
		}
		f.check(values[environment+".global.stack_name"] != "", "%s has no stack_name", environment)
		var given []string
		for _, pair := range list {
			name, value, _ := strings.Cut(pair, "=")
			given = append(given, name)
			f.check(h.parameters()[name] != nil, "%s overrides %s, which is no parameter", environment, name)
			f.check(!strings.Contains(value, ", ") && value != "", "%s: %s has a value that SAM cuts or refuses", environment, name)
		}
		for _, name := range members(h.parameters()) {
			_, optional := at(h.parameters(), name).(object)["Default"]
			f.check(optional || slices.Contains(given, name), "%s lacks %s", environment, name)
		}
	}
	return f
}
