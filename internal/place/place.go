package place

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Place is what AWS calls this process's surroundings. A name that it has not, or
// that could not be found out, is empty.
type Place struct {
	Target string // ELB target id: an EC2 instance's id, or the IP address of a task with one of its own
	Task   string // ARN of the ECS task
}

// askLimit bounds what is asked of each of the two services, so that [Find] takes
// at most twice as long: outside AWS their addresses may lead nowhere.
const askLimit = time.Second

// The environment's variables: what ECS sets in each container, and what AWS's own
// tools read (AWS SDKs and Tools Reference Guide, "IMDS credential provider").
const (
	ecsURI       = "ECS_CONTAINER_METADATA_URI_V4"
	imdsEndpoint = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
	imdsMode     = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"
	imdsDisabled = "AWS_EC2_METADATA_DISABLED"
)

// Find asks the ECS agent, where the environment names it, and the instance
// metadata service (version 2 only) where the target is not the task's own address:
// outside of ECS, and for tasks that share their machine's network. It returns what
// it found within two seconds, with an error that says what it did not.
func Find(ctx context.Context, environment map[string]string) (Place, error) {
	client := &http.Client{
		Transport:     &http.Transport{DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true}, // no proxy: it would answer for its own machine
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var found Place
	if uri := environment[ecsURI]; uri != "" {
		var err error
		if found, err = task(ctx, client, uri); err != nil || found.Target != "" {
			return found, err
		}
	}
	var err error
	found.Target, err = instance(ctx, client, environment)
	return found, err
}
