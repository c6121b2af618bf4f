// Package albevent translates between the JSON that an Application Load
// Balancer exchanges with a Lambda function and the requests and answers of
// package redirect.
//
// The format is described in AWS, "Lambda functions as targets" (Elastic Load
// Balancing user guide): the load balancer leaves path, query keys and query
// values percent-encoded, and uses one of two families of fields for headers
// and query, as the target group's attribute lambda.multi_value_headers.enabled
// says. The function has to answer in the family it was asked in: fields of the
// other are ignored, and a null anywhere becomes a 502.
//
// This runs in every invocation, hence no reflection: an event is read once, in
// time linear in its size, and the request's body is passed over uncopied.
package albevent

import "errors"

// Mode is the family of fields that an event used and its answer has to use.
type Mode int

const (
	// Single is headers and queryStringParameters: one value per name. It is
	// what a target group does by default.
	Single Mode = iota
	// Multi is multiValueHeaders and multiValueQueryStringParameters: a list of
	// values per name.
	Multi
)

// ErrMalformed reports an event that is no complete JSON object.
var ErrMalformed = errors.New("albevent: malformed event")
