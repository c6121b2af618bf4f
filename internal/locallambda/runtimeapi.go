package locallambda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// invocation is one event on its way to a function.
type invocation struct {
	id       string
	payload  []byte
	deadline time.Time
	trace    string
}

// answer is what a function made of an invocation, or of its start.
type answer struct {
	payload []byte
	err     error // a *FunctionError, or nil
}

// runtimeAPI is the HTTP interface between Lambda and one copy. Its channels
// are unbuffered: a request of the copy is answered only after whoever drives
// the copy has taken note of it.
type runtimeAPI struct {
	arn     string
	addr    string
	asked   chan struct{}   // the copy asks for work
	work    chan invocation // what it is given
	answers chan answer     // what it made of it

	server   *http.Server
	listener net.Listener
}

// newRuntimeAPI listens on a free port of 127.0.0.1.
func newRuntimeAPI(ctx context.Context, arn string) (*runtimeAPI, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open runtime API: %w", err)
	}
	a := &runtimeAPI{
		arn:      arn,
		addr:     listener.Addr().String(),
		asked:    make(chan struct{}),
		work:     make(chan invocation),
		answers:  make(chan answer),
		listener: listener,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", a.response)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", a.failure)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", a.failure)
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return a, nil
}

// serve answers the copy's requests until close.
func (a *runtimeAPI) serve() { _ = a.server.Serve(a.listener) }

// close ends serve and every request under way.
func (a *runtimeAPI) close() { _ = a.server.Close() }

// next hands out the next invocation, however long that takes to come.
func (a *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	select {
	case a.asked <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	select {
	case in := <-a.work:
		a.hand(w, in)
	case <-r.Context().Done():
	}
}

func (a *runtimeAPI) hand(w http.ResponseWriter, in invocation) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(in.payload)))
	h.Set("Lambda-Runtime-Aws-Request-Id", in.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(in.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", a.arn)
	h.Set("Lambda-Runtime-Trace-Id", in.trace)
	_, _ = w.Write(in.payload) // a copy that is gone is noticed by its exit
}

func (a *runtimeAPI) response(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxPayload))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		a.accept(w, r, http.StatusRequestEntityTooLarge, answer{err: &FunctionError{
			Type:    "Function.ResponseSizeTooLarge",
			Message: "response payload size exceeded maximum allowed payload size (6291456 bytes)",
		}})
		return
	}
	if err != nil {
		return // the copy went away in the middle
	}
	a.accept(w, r, http.StatusAccepted, answer{payload: body})
}

func (a *runtimeAPI) failure(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxPayload))
	if err != nil {
		return
	}
	err = decodeError(body, r.Header.Get("Lambda-Runtime-Function-Error-Type"))
	a.accept(w, r, http.StatusAccepted, answer{err: err})
}

// accept passes got on, then answers the copy.
func (a *runtimeAPI) accept(w http.ResponseWriter, r *http.Request, status int, got answer) {
	select {
	case a.answers <- got:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"status":"OK"}`)
	case <-r.Context().Done():
	}
}
