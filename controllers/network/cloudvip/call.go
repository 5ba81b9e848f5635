// SPDX-License-Identifier: Apache-2.0

package cloudvip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// caller calls an API. Its token is in no error.
type caller struct {
	client              *http.Client
	root, header, token string
}

// text returns the text at a path.
func (c caller) text(ctx context.Context, path string) (string, error) {
	body, err := c.do(ctx, http.MethodGet, path, nil)

	return string(bytes.TrimSpace(body)), err
}

// call sends in, if it is not nil, and reads the answer into out, if it is not nil.
func (c caller) call(ctx context.Context, method, path string, in, out any) error {
	var request []byte

	if in != nil {
		var err error
		if request, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}

	answer, err := c.do(ctx, method, path, request)
	if err != nil || out == nil {
		return err
	}

	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %.300s", method, path, err) // it may repeat a value of any length
	}

	return nil
}

func (c caller) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.root+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}

	if c.token != "" {
		request.Header.Set(c.header, c.token)
	}

	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}

	response, err := c.client.Do(request)
	if err != nil {
		return nil, err // it names the method and the URL
	}
	defer response.Body.Close()

	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = errors.New("the answer is too large")
	}

	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("status %s%s", response.Status, reason(answer))
	}

	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, request.URL, err)
	}

	return answer, nil
}

// reason returns what an answer says about its error, as a part of a sentence: Hetzner says error.message, Equinix error or errors.
func reason(answer []byte) string {
	var hetzner struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}

	if json.Unmarshal(answer, &hetzner) == nil && hetzner.Error.Message != "" {
		return fmt.Sprintf(": %.200s", hetzner.Error.Message)
	}

	var equinix struct {
		Error  string   `json:"error"`
		Errors []string `json:"errors"`
	}

	if json.Unmarshal(answer, &equinix) == nil {
		for _, text := range append(equinix.Errors, equinix.Error) {
			if text != "" {
				return fmt.Sprintf(": %.200s", text)
			}
		}
	}

	return ""
}
