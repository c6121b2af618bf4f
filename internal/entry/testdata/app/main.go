// Command app is an application that does what a test tells it by HTTP, and says
// on standard output what happens to it. What it says first is its address.
//
// APP_ON_TERM tells what it does on SIGTERM: it ends with 0 when that is empty,
// else it only says so and waits to be told. APP_GATE is the path of its gate.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = http.Serve(listener, newApp()) }()
	fmt.Println("listening", listener.Addr())
	for s := range signals {
		fmt.Println("got", s)
		if s == syscall.SIGTERM && os.Getenv("APP_ON_TERM") == "" {
			fmt.Println("ending")
			os.Exit(0)
		}
	}
}

func newApp() http.Handler {
	var ready atomic.Bool
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/become-ready", func(http.ResponseWriter, *http.Request) { ready.Store(true) })
	mux.HandleFunc("/become-ill", func(http.ResponseWriter, *http.Request) { ready.Store(false) })
	mux.HandleFunc("/exit", func(_ http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.FormValue("code"))
		fmt.Println("ending")
		os.Exit(code)
	})
	mux.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	mux.HandleFunc("/orphan", orphan)
	mux.HandleFunc("/work", func(http.ResponseWriter, *http.Request) { work(nil) })
	mux.HandleFunc("/long-work", func(http.ResponseWriter, *http.Request) { work(release) })
	mux.HandleFunc("/release", func(http.ResponseWriter, *http.Request) { close(release) })
	return mux
}

// orphan starts a process that outlives its parent for so many seconds, and answers
// its id.
func orphan(w http.ResponseWriter, r *http.Request) {
	out, err := exec.CommandContext(r.Context(), "sh", "-c", `sleep "$1" >/dev/null 2>&1 & echo $!`, "sh", r.FormValue("for")).Output()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, strings.TrimSpace(string(out)))
}

// work is a request that asks the gate for its GO, and lasts until release is
// closed, unless that is nil.
func work(release <-chan struct{}) {
	conn, err := net.Dial("unix", os.Getenv("APP_GATE"))
	if err != nil {
		fmt.Println("no gate:", err)
		return
	}
	defer conn.Close()
	fmt.Println("at the gate")
	if n, err := conn.Read(make([]byte, 1)); n != 1 {
		fmt.Println("no GO:", err)
		return
	}
	fmt.Println("working")
	if release != nil {
		<-release
	}
	fmt.Println("worked")
}
