package localaws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/aws/smithy-go"
)

// Server answers the calls of all services at one address, for AWS_ENDPOINT_URL.
// What is nil is not there.
type Server struct {
	ELB         *ELB
	AutoScaling *AutoScaling
	CodeDeploy  *CodeDeploy
	Functions   map[string]Function // by name
}

// Function is what Lambda's Invoke runs, a [locallambda.Host] for example.
type Function interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// operation is a call of the query protocol.
type operation func(context.Context, url.Values) (any, error)

// of makes an operation of a method that the SDK's client has too.
func of[In, Out, Options any](do func(context.Context, *In, ...func(*Options)) (*Out, error)) operation {
	return func(ctx context.Context, form url.Values) (any, error) {
		in := new(In)
		if err := parse(form, "", reflect.ValueOf(in).Elem()); err != nil {
			return nil, Error("MalformedInput", err.Error())
		}
		return do(ctx, in)
	}
}

// operations are by name; no two services have one in common.
func (s *Server) operations() map[string]operation {
	all := make(map[string]operation)
	if e := s.ELB; e != nil {
		all["DescribeRules"], all["DescribeTags"] = of(e.DescribeRules), of(e.DescribeTags)
		all["DescribeTargetHealth"], all["DescribeTargetGroupAttributes"] = of(e.DescribeTargetHealth), of(e.DescribeTargetGroupAttributes)
		all["ModifyRule"], all["ModifyListener"] = of(e.ModifyRule), of(e.ModifyListener)
		all["AddTags"], all["RemoveTags"] = of(e.AddTags), of(e.RemoveTags)
	}
	if a := s.AutoScaling; a != nil {
		all["CompleteLifecycleAction"], all["RecordLifecycleActionHeartbeat"] = of(a.CompleteLifecycleAction), of(a.RecordLifecycleActionHeartbeat)
	}
	return all
}

// ServeHTTP tells the services apart by their protocols.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, isLambda := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
	function, isInvoke := strings.CutSuffix(path, "/invocations")
	target := r.Header.Get("X-Amz-Target")
	switch {
	case r.Method != http.MethodPost, isLambda && !isInvoke:
		http.Error(w, "none of the calls that are known", http.StatusNotFound)
	case isLambda:
		s.invoke(w, r, function)
	case target != "":
		s.json(w, r, target)
	default:
		s.query(w, r)
	}
}

func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	err := r.ParseForm()
	name := r.PostForm.Get("Action")
	do, known := s.operations()[name]
	var out any
	switch {
	case err != nil:
		err = Error("MalformedQueryString", err.Error())
	case !known:
		err = Error("InvalidAction", "The action "+name+" is not valid for this endpoint.")
	default:
		out, err = do(r.Context(), r.PostForm)
	}
	w.Header().Set("Content-Type", "text/xml")
	var b strings.Builder
	if err != nil {
		code, message := fault(err)
		w.WriteHeader(http.StatusBadRequest)
		render(&b, "ErrorResponse", reflect.ValueOf(struct {
			Error     struct{ Type, Code, Message string }
			RequestID string
		}{Error: struct{ Type, Code, Message string }{"Sender", code, message}}))
	} else {
		b.WriteString("<" + name + "Response>")
		render(&b, name+"Result", reflect.ValueOf(out))
		b.WriteString("</" + name + "Response>")
	}
	_, _ = io.WriteString(w, b.String()) // a caller that is gone gets nothing
}

// fault returns the code and message of an error of a service's.
func fault(err error) (code, message string) {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode(), e.ErrorMessage()
	}
	return "InternalFailure", err.Error()
}

// json answers a call of the JSON protocol; only CodeDeploy's is known.
func (s *Server) json(w http.ResponseWriter, r *http.Request, target string) {
	body, err := io.ReadAll(r.Body)
	var out any
	switch {
	case err != nil:
	case s.CodeDeploy == nil || target != "CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus":
		err = Error("UnknownOperationException", target)
	default:
		out, err = s.CodeDeploy.put(body)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if err != nil {
		code, message := fault(err)
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]string{"__type": code, "message": message}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// invoke runs a function ("Invoke" in the Lambda API reference).
func (s *Server) invoke(w http.ResponseWriter, r *http.Request, name string) {
	function, known := s.Functions[name]
	if !known {
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, `{"Type":"User","Message":"Function not found: %s"}`, name)
		return
	}
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := function.Invoke(r.Context(), payload)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer, _ = json.Marshal(map[string]string{"errorMessage": err.Error()}) // a string never fails
	}
	_, _ = w.Write(answer)
}
