// Command greeting prints a greeting.
package main

import "os"

const greeting = "hello"

func main() { _, _ = os.Stdout.WriteString(greeting) }
