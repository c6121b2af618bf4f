// Package mototest starts moto's server for tests: AWS's APIs on loopback, as far
// as moto imitates them, gone when the test ends. What it imitates badly is in
// the fakes of the packages that need it.
package mototest
