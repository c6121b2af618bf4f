package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// idLimit is more than any instance id has: i- and 17 hexadecimal digits.
const idLimit = 64

var errNoID = errors.New("answer is no instance id")

// instance asks the instance metadata service for this machine's id, once: from a
// container the answer may never come, where the service's hop limit is 1 (Amazon
// EC2 User Guide, "Use the Instance Metadata Service to access instance metadata").
// Empty and no error come back where the environment forbids to ask.
func instance(ctx context.Context, client *http.Client, environment map[string]string) (string, error) {
	if strings.EqualFold(environment[imdsDisabled], "true") {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	options := imds.Options{
		HTTPClient:        client,
		ClientEnableState: imds.ClientEnabled,
		Endpoint:          environment[imdsEndpoint],
		EnableFallback:    aws.FalseTernary, // version 1 is not asked: it answers a forwarded request too
		Retryer:           aws.NopRetryer{},
	}
	if strings.EqualFold(environment[imdsMode], "IPv6") {
		options.EndpointMode = imds.EndpointModeStateIPv6
	}
	out, err := imds.New(options).GetMetadata(ctx, &imds.GetMetadataInput{Path: "instance-id"})
	if err != nil {
		return "", fmt.Errorf("ask EC2 for this instance: %w", err)
	}
	defer out.Content.Close()
	raw, err := io.ReadAll(io.LimitReader(out.Content, idLimit))
	if err != nil {
		return "", fmt.Errorf("read this instance's id: %w", err)
	}
	id := strings.TrimSpace(string(raw))
	if !strings.HasPrefix(id, "i-") {
		return "", fmt.Errorf("ask EC2 for this instance: %w: %.20q", errNoID, id)
	}
	return id, nil
}
