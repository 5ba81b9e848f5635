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

// statusError is an answer that is not a success: a Status of the Kubernetes API, or the text of a proxy.
type statusError struct {
	code            int
	Reason, Message string
	Details         struct{ Causes []Cause }
}

// Cause is one reason in an answer that is not a success.
type Cause struct{ Reason, Message, Field string }

func statusOf(response *http.Response) *statusError {
	status := &statusError{code: response.StatusCode}

	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // the code is enough
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

// brief removes the request from its error, for a caller that adds its own context.
func brief(err error) error {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status
	}

	return err
}

// code returns the HTTP status of an answer, 0 if there was none.
func code(err error) int {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.code
	}

	return 0
}

// IsNotFound reports whether the object (or its type) does not exist.
func IsNotFound(err error) bool { return code(err) == http.StatusNotFound }

// IsConflict reports whether another client has changed the object, or it exists already.
func IsConflict(err error) bool { return code(err) == http.StatusConflict }

// IsForbidden reports whether the client is not allowed to make the request.
func IsForbidden(err error) bool { return code(err) == http.StatusForbidden }

// IsRefused reports whether the server refuses a request for what it is: it would refuse it again.
func IsRefused(err error) bool {
	switch code(err) {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	default:
		return false
	}
}

// Conflicts returns the fields of other managers that an apply would have changed; none for another error.
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

// IsUnauthorized reports whether the server does not accept the client's credentials.
func IsUnauthorized(err error) bool { return code(err) == http.StatusUnauthorized }
