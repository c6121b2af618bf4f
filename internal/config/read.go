package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/detourhq/detour/pkg/selection"
)

// Mode says where the redirect function takes its nodes from.
type Mode string

// The modes.
const (
	RegistryMode Mode = "registry"
	StaticMode   Mode = "static"
)

// UnmarshalText reads a mode.
func (m *Mode) UnmarshalText(text []byte) error {
	switch v := Mode(text); v {
	case RegistryMode, StaticMode:
		*m = v
		return nil
	}
	return errors.New("not one of registry, static")
}

// Switch is a boolean: on or off, true or false, 1 or 0.
type Switch bool

// UnmarshalText reads a switch.
func (s *Switch) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "on", "true", "1":
		*s = true
	case "off", "false", "0":
		*s = false
	default:
		return errors.New("not one of on, off, true, false, 1, 0")
	}
	return nil
}

// read fills c, a pointer to a struct with env tags. The error joins one fault
// for each variable that cannot be read, by its name.
func read[T any](environment map[string]string, c *T) error {
	err := env.ParseWithOptions(c, env.Options{
		Environment: trimmed(environment),
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[time.Duration]():    parseDuration,
			reflect.TypeFor[selection.Policy](): func(s string) (any, error) { return selection.ParsePolicy(s) },
		},
	})
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	faults := make([]error, 0, len(all.Errors))
	for _, e := range all.Errors {
		faults = append(faults, name[T](environment, e))
	}
	return errors.Join(faults...)
}

// trimmed leaves out variables that are set to nothing: they count as unset, as
// an empty parameter of a template is meant.
func trimmed(environment map[string]string) map[string]string {
	m := make(map[string]string, len(environment))
	for k, v := range environment {
		if v = strings.TrimSpace(v); v != "" {
			m[k] = v
		}
	}
	return m
}

func parseDuration(s string) (any, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("negative")
	}
	if err != nil {
		return d, fmt.Errorf("not a duration such as 250ms, 5s or 2m: %w", err)
	}
	return d, nil
}

// name tells a parser's fault by its variable instead of the struct's field.
func name[T any](environment map[string]string, fault error) error {
	var p env.ParseError
	if !errors.As(fault, &p) {
		return fault
	}
	field, ok := reflect.TypeFor[T]().FieldByName(p.Name)
	if !ok {
		return fault
	}
	variable := field.Tag.Get("env")
	return fmt.Errorf("%s=%q: %w", variable, environment[variable], p.Err)
}
