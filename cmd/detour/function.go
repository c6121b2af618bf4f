package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/detourhq/detour/internal/command"
)

// throughFunction has the heartbeat function called name carry c out, and
// returns its answer. IAM decides who may: lambda:InvokeFunction is the lock.
func throughFunction(ctx context.Context, name string, c command.Command) (json.RawMessage, error) {
	payload, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read AWS settings: %w", err)
	}
	if settings.Region == "" {
		return nil, fmt.Errorf("%w: no AWS Region is set for function %s: set AWS_REGION, or AWS_PROFILE", errUsage, name)
	}
	out, err := lambda.NewFromConfig(settings).Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(name), Payload: payload})
	if err != nil {
		return nil, advise(fmt.Errorf("invoke function %s: %w", name, err))
	}
	if out.FunctionError != nil {
		return nil, fmt.Errorf("invoke function %s: it failed (%s), see its log: %.300s", name, *out.FunctionError, out.Payload)
	}
	return out.Payload, refusal(out.Payload)
}

// refusal is the error that the function answered with, nil if it did what it was
// asked.
func refusal(answer []byte) error {
	var f struct {
		Error string `json:"error"`
		Code  int    `json:"code"`
	}
	if err := json.Unmarshal(answer, &f); err != nil {
		return fmt.Errorf("the function's answer cannot be read: %w", err)
	}
	switch {
	case f.Error == "":
		return nil
	case f.Code == usage:
		return fmt.Errorf("%w: %s", errUsage, f.Error)
	}
	return errors.New(f.Error)
}

// showAnswer shows a function's answer as if it had been made here.
func showAnswer[T any](a *app, answer json.RawMessage, show func(*T)) error {
	if a.json {
		_, err := fmt.Fprintf(a.stdout, "%s\n", bytes.TrimSpace(answer))
		return err
	}
	var typed T
	if err := json.Unmarshal(answer, &typed); err != nil {
		return fmt.Errorf("the function's answer cannot be read: %w", err)
	}
	show(&typed)
	return nil
}
