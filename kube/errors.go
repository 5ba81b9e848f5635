// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// statusError is an answer that is not a success: the Status of a Kubernetes API, or what came from something in between.
type statusError struct {
	code            int
	Reason, Message string
	Details         struct{ Causes []Cause }
}

// Cause is one of what an answer says was wrong.
type Cause struct{ Reason, Message, Field string }

func statusOf(response *http.Response) *statusError {
	status := &statusError{code: response.StatusCode}

	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // the code says enough
	if json.Unmarshal(text, status) != nil || status.Message == "" {
		status.Message = fmt.Sprintf("%.200s", strings.TrimSpace(string(text)))
	}

	return status
}

// Error implements error.
func (e *statusError) Error() string {
	text := fmt.Sprintf("%d %s", e.code, e.Reason)
	text = strings.TrimSuffix(text, " ") + ": " + e.Message

	for _, cause := range e.Details.Causes {
		if !strings.Contains(text, cause.Message) {
			text += " " + cause.Message
		}
	}

	return text
}

// brief leaves the request out of the error of one, for those who say themselves what it was for.
func brief(err error) error {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status
	}

	return err
}

// code is the status that the server answered with, 0 where it did not.
func code(err error) int {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.code
	}

	return 0
}

// IsNotFound reports whether the object (or its type) does not exist.
func IsNotFound(err error) bool { return code(err) == http.StatusNotFound }

// IsConflict reports whether the object has changed meanwhile, or exists already.
func IsConflict(err error) bool { return code(err) == http.StatusConflict }

// IsForbidden reports whether the caller may not do what it asked for.
func IsForbidden(err error) bool { return code(err) == http.StatusForbidden }

// Conflicts returns the fields that an apply would have taken from other managers; none for an error of another kind.
func Conflicts(err error) []Cause {
	status, ok := errors.AsType[*statusError](err)
	if !ok {
		return nil
	}

	var out []Cause

	for _, cause := range status.Details.Causes {
		if cause.Reason == "FieldManagerConflict" {
			out = append(out, cause)
		}
	}

	return out
}
