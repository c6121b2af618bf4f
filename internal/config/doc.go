// Package config reads the DETOUR_* environment. Every fault is named at once,
// by the variable that it stands in.
package config
