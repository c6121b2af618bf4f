package mototest

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Subnets returns two subnets of the account's own network in region, which moto
// makes. It asks by hand: the SDK's part for EC2 is needed for nothing else.
func (s *Server) Subnets(t testing.TB, region string) (ids []string, vpc string) {
	t.Helper()
	form := url.Values{"Action": {"DescribeSubnets"}, "Version": {"2016-11-15"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=made-up/20260101/"+region+"/ec2/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var body struct {
		Subnets []struct {
			ID  string `xml:"subnetId"`
			VPC string `xml:"vpcId"`
		} `xml:"subnetSet>item"`
	}
	require.NoError(t, xml.Unmarshal(raw, &body))
	require.GreaterOrEqual(t, len(body.Subnets), 2)
	return []string{body.Subnets[0].ID, body.Subnets[1].ID}, body.Subnets[0].VPC
}
