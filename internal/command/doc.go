// Package command carries out what people and programs ask of a cluster: pause,
// resume, status and the rest. The CLI calls it with flags, the heartbeat
// function with the JSON that the CLI sends it; both get the same answer.
package command
