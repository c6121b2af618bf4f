// Package localaws is AWS's API on loopback, as far as Detour calls it: Elastic
// Load Balancing's, in front of a [localalb.LoadBalancer] if wanted, the part of
// Auto Scaling's and CodeDeploy's that waits for answers, and Lambda's Invoke. A
// program of AWS's SDK reaches all of it by AWS_ENDPOINT_URL; what is in Go may
// call the services directly.
//
// It refuses what AWS refuses, where moto lets it pass or does not know the call.
// Signatures and IAM are not checked.
package localaws
