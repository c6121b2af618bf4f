package localalb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// errTooLarge reports an answer over one of ALB's limits; every other error of
// parseAnswer means that the answer is invalid.
var errTooLarge = errors.New("too large")

// answer is a function's answer that ALB accepts.
type answer struct {
	status int
	header []field // sorted by name, names as the function wrote them
	body   []byte
}

type field struct{ name, value string }

// parseAnswer reads a function's answer as strictly as ALB does: a null
// anywhere, a value of the wrong type or a missing statusCode makes all of it
// invalid. In multi-value mode headers is ignored, else multiValueHeaders is.
func parseAnswer(payload []byte, multi bool) (answer, error) {
	if len(payload) > maxAnswer {
		return answer{}, fmt.Errorf("answer of %d bytes: %w", len(payload), errTooLarge)
	}
	fields, err := parseObject(payload)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if a.status, err = parseStatus(fields["statusCode"]); err != nil {
		return answer{}, err
	}
	if multi {
		a.header, err = multiHeaders(fields["multiValueHeaders"])
	} else {
		a.header, err = singleHeaders(fields["headers"])
	}
	if err != nil {
		return answer{}, err
	}
	var description string
	if err := parseField(fields, "statusDescription", &description); err != nil {
		return answer{}, err
	}
	if a.body, err = parseBody(fields); err != nil {
		return answer{}, err
	}
	return a, checkHeaders(a.header)
}

// parseObject splits a JSON object that holds no null at any depth. Its field
// names are case-sensitive.
func parseObject(payload []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(payload) {
		return nil, errors.New("answer is not UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, fmt.Errorf("parse answer: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(payload)); ; {
		tok, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return fields, nil
		case err != nil:
			return nil, fmt.Errorf("parse answer: %w", err)
		case tok == nil:
			return nil, errors.New("answer holds a null")
		}
	}
}

// parseField decodes an optional field.
func parseField(fields map[string]json.RawMessage, name string, to any) error {
	raw, ok := fields[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	return nil
}

// parseStatus accepts the whole numbers from 200 to 599; what ALB makes of
// others is not documented.
func parseStatus(raw json.RawMessage) (int, error) {
	if raw == nil {
		return 0, errors.New("answer has no statusCode")
	}
	status, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0, fmt.Errorf("parse statusCode: %w", err)
	}
	if status < 200 || status > 599 {
		return 0, fmt.Errorf("statusCode %d is not in 200 to 599", status)
	}
	return status, nil
}

func parseBody(fields map[string]json.RawMessage) ([]byte, error) {
	var body string
	var encoded bool
	if err := errors.Join(parseField(fields, "body", &body), parseField(fields, "isBase64Encoded", &encoded)); err != nil {
		return nil, err
	}
	if !encoded {
		return []byte(body), nil
	}
	if strings.ContainsAny(body, "\r\n") { // encoding/base64 skips them
		return nil, errors.New("parse body: line break in base64")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil {
		return nil, fmt.Errorf("parse body: %w", err)
	}
	return raw, nil
}

func singleHeaders(raw json.RawMessage) ([]field, error) {
	if raw == nil {
		return nil, nil
	}
	var headers map[string]string
	if err := json.Unmarshal(raw, &headers); err != nil {
		return nil, fmt.Errorf("parse headers: %w", err)
	}
	var all []field
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		all = append(all, field{name, headers[name]})
	}
	return all, nil
}

func multiHeaders(raw json.RawMessage) ([]field, error) {
	if raw == nil {
		return nil, nil
	}
	var headers map[string][]string
	if err := json.Unmarshal(raw, &headers); err != nil {
		return nil, fmt.Errorf("parse multiValueHeaders: %w", err)
	}
	var all []field
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, v := range headers[name] {
			all = append(all, field{name, v})
		}
	}
	return all, nil
}

// checkHeaders refuses what HTTP cannot carry, control bytes foremost, and
// more than 32 KiB counted as "name: value" with line ends.
func checkHeaders(all []field) error {
	total := 0
	for _, f := range all {
		if !httpguts.ValidHeaderFieldName(f.name) || !httpguts.ValidHeaderFieldValue(f.value) {
			return fmt.Errorf("header %q: %q is not valid", f.name, f.value)
		}
		total += len(f.name) + len(f.value) + len(": \r\n")
	}
	if total > maxAnswerHeaders {
		return fmt.Errorf("headers of %d bytes: %w", total, errTooLarge)
	}
	return nil
}
