package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detourhq/detour/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var d demo.Config
	c := &cobra.Command{
		Use:   "demo",
		Short: "A whole rolling deployment on this machine, under load",
		Long: `Demo deploys two groups of nodes in turn, and single nodes too, while clients send
a steady load through a local load balancer: the real redirect function under a
local Lambda runtime, nodes that really stop and come back as a new version, and
clients that follow redirects and check the hash of every body.

It needs the redirect function's binary: --binary, or Go and this project's
source to build it. It ends with 1 if any request failed; --without-detour shows
what the same deployment loses today, and ends with 0.`,
		Example: `  detour demo
  detour demo --without-detour --json
  detour demo --rounds 3 --rate 400 --redis redis://127.0.0.1:6379`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			d.RedisURL = a.redis
			display := demo.NewDisplay(a.stderr, a.terminal)
			result, err := demo.Run(c.Context(), d, display.Update)
			if err != nil {
				fmt.Fprintln(a.stderr, display.Verdict(result, d.WithoutDetour))
				return err
			}
			if a.json {
				err = json.NewEncoder(a.stdout).Encode(result)
			} else {
				_, err = fmt.Fprintln(a.stdout, display.Verdict(result, d.WithoutDetour))
			}
			if err == nil && !d.WithoutDetour && result.Failed > 0 {
				return errQuiet
			}
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&d.Rounds, "rounds", 1, "how many times everything is deployed")
	f.IntVar(&d.Rate, "rate", 250, "requests per second")
	f.IntVar(&d.Nodes, "nodes", 3, "nodes per group")
	f.BoolVar(&d.WithoutDetour, "without-detour", false, "the same deployment, without")
	f.StringVar(&d.Binary, "binary", "", "the redirect function's binary (default: built from source)")
	return c
}
