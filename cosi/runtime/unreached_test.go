// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// TestUnreached has the errors of real connections.
func TestUnreached(t *testing.T) {
	ended, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	ended.Close()

	_, refused := net.Dial("tcp", ended.Addr().String())
	_, socket := net.Dial("unix", filepath.Join(t.TempDir(), "containerd.sock"))
	_, unknown := (&net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}).LookupHost(t.Context(), "a.invalid")

	get := func(address net.Addr) error {
		answer, err := (&http.Client{Timeout: 50 * time.Millisecond}).Get("http://" + address.String())
		if err == nil {
			answer.Body.Close()
		}

		return err
	}

	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"refused":           {refused, true},
		"refused, wrapped":  {fmt.Errorf("trustd: %w", errors.Join(errors.New("no"), refused)), true},
		"a request":         {get(ended.Addr()), true},
		"a request in vain": {get(silent.Addr()), true},
		"a name":            {unknown, true},
		"a local socket":    {socket, false},
		"its own time":      {context.DeadlineExceeded, false},
		"something else":    {errors.New("EIO"), false},
	} {
		if got := unreached(test.err); got != test.want {
			t.Errorf("%s: %v: got %t, want %t", name, test.err, got, test.want)
		}
	}
}

// TestUnreachedTogether: one subject with a problem of its own is enough.
func TestUnreachedTogether(t *testing.T) {
	c := failing{subjects: map[subject]problem{}}
	away, own := problem{"no route to host", true}, problem{"EIO", false}

	for _, step := range []struct {
		resource string
		problem  *problem
		want     bool
	}{{"a", &away, true}, {"b", &own, false}, {"b", &own, false}, {"a", &own, false}, {"b", nil, false}, {"a", &away, true}, {"b", &own, false}, {"b", &away, true}} {
		if step.problem == nil {
			c.remove(subject{resource: step.resource})
		} else {
			c.set(subject{resource: step.resource}, *step.problem)
		}

		if c.spec.Unreached != step.want {
			t.Errorf("%s, %v: got %t, want %t", step.resource, step.problem, c.spec.Unreached, step.want)
		}
	}
}
