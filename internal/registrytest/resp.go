package registrytest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	mostWords = 4096
	mostBytes = 8 << 20
)

var errProtocol = errors.New("not a command in RESP")

// readCommand reads one command: an array of bulk strings (Redis, "RESP
// protocol specification").
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*', mostWords)
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readLength(r, '$', mostBytes)
		if err != nil {
			return nil, err
		}
		body := make([]byte, size+2)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		if !bytes.HasSuffix(body, []byte("\r\n")) {
			return nil, errProtocol
		}
		words[i] = string(body[:size])
	}
	return words, nil
}

func readLength(r *bufio.Reader, kind byte, most int) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	text, ok := strings.CutSuffix(line, "\r\n")
	if !ok || text == "" || text[0] != kind {
		return 0, fmt.Errorf("%w: line %.40q", errProtocol, line)
	}
	n, err := strconv.Atoi(text[1:])
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%w: line %.40q", errProtocol, line)
	}
	return n, nil
}

// appendCommand appends what readCommand reads.
func appendCommand(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}
