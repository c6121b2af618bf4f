package place_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// imds is an instance metadata service that has version 2 only ("HttpTokens":
// "required"), as the Amazon EC2 User Guide describes it under "Use the Instance
// Metadata Service to access instance metadata".
type imds struct {
	URL    string
	asked  atomic.Int64
	tokens atomic.Int64
}

const token = "AQAEAAo9Xw=="

func newIMDS(t *testing.T, id string) *imds {
	t.Helper()
	s := &imds{}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", s.token)
	mux.HandleFunc("GET /latest/meta-data/instance-id", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Aws-Ec2-Metadata-Token") != token {
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, id)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *imds) token(w http.ResponseWriter, r *http.Request) {
	ttl := r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds")
	seconds, err := strconv.Atoi(ttl)
	switch {
	case err != nil, seconds < 1, seconds > 21600:
		http.Error(w, "", http.StatusBadRequest)
	case r.Header.Get("X-Forwarded-For") != "":
		http.Error(w, "", http.StatusForbidden)
	default:
		s.tokens.Add(1)
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", ttl)
		fmt.Fprint(w, token)
	}
}

// hanging returns the URL of a server whose answers never come: what a container
// sees of an instance metadata service with a hop limit of 1.
func hanging(t *testing.T) string {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return server.URL
}

// ecs returns the value of ECS_CONTAINER_METADATA_URI_V4 for an agent that gives
// these answers about its task in turn, the last one from then on; an empty one is
// an error 500.
func ecs(t *testing.T, answers ...string) string {
	t.Helper()
	const path = "/v4/158d1c8083dd49d6b527399fd6414f5c-0206b271"
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path+"/task", func(w http.ResponseWriter, _ *http.Request) {
		answer := answers[min(int(asked.Add(1)), len(answers))-1]
		if answer == "" {
			http.Error(w, `"V4 task metadata handler: unable to generate metadata for task"`, http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + path
}
