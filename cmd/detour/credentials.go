package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/config"
)

// credentialChain returns the credentials that AWS's own tools would use here:
// environment, shared files, single sign-on, a container's or machine's role.
// Nothing is looked up before the first use.
func credentialChain() aws.CredentialsProvider {
	load := sync.OnceValues(func() (aws.Config, error) { return sdk.LoadDefaultConfig(context.Background()) })
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		c, err := load()
		if err != nil {
			return aws.Credentials{}, fmt.Errorf("load AWS configuration: %w", err)
		}
		return c.Credentials.Retrieve(ctx)
	})
}
