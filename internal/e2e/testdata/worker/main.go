// Command worker is a web application whose each request asks a gate for its GO, and
// then a database, as often as the request's path begins with: GET /3/x asks three
// times in a row, 300 ms apart, and answers its path and what it was told.
//
// Its arguments are the gate's path and the database's address. On standard output it
// says where it listens, and of each request that it has run when that began and
// ended, in ns since the Unix epoch. See worker.py for the same in Python.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const pause = 300 * time.Millisecond // between two questions

func main() {
	w := worker{gate: os.Args[1], database: os.Args[2]}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening", listener.Addr())
	log.Fatal(http.Serve(listener, w))
}

type worker struct{ gate, database string }

func (w worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	done, err := w.enter()
	if err != nil {
		rw.Header().Set("Retry-After", "1")
		http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer done()
	began := time.Now()
	defer func() { fmt.Println("ran", began.UnixNano(), time.Now().UnixNano()) }()
	if err := w.run(rw, r.URL.Path); err != nil {
		log.Print(err)
		panic(http.ErrAbortHandler) // what is answered by now is not all
	}
}

// enter waits for the request's GO. What it returns is to be called at its end.
func (w worker) enter() (done func(), err error) {
	conn, err := net.Dial("unix", w.gate)
	if err != nil {
		return func() {}, nil // no agent: then nobody pauses this node either
	}
	if n, err := conn.Read(make([]byte, 1)); n != 1 {
		return nil, errors.Join(errors.New("no GO"), err, conn.Close())
	}
	return func() { _ = conn.Close() }, nil
}

// run answers what the database says, while it says it.
func (w worker) run(rw http.ResponseWriter, path string) error {
	times, err := strconv.Atoi(strings.Split(path, "/")[1])
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", w.database)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = io.WriteString(rw, path)
	answers := bufio.NewReader(conn)
	for i := range times {
		if i > 0 {
			time.Sleep(pause)
		}
		if _, err := io.WriteString(conn, "version\n"); err != nil {
			return err
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			return err
		}
		_, _ = io.WriteString(rw, " "+strings.TrimSpace(answer))
		_ = http.NewResponseController(rw).Flush()
	}
	return nil
}
