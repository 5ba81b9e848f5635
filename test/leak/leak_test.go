// SPDX-License-Identifier: Apache-2.0

package leak

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

func TestWait(t *testing.T) {
	before := goleak.IgnoreCurrent()

	if err := wait(0, before); err != nil {
		t.Errorf("nothing was started: got %v", err)
	}

	end := make(chan struct{})
	go leftBehind(end)

	if err := wait(time.Millisecond, before); err == nil || !strings.Contains(err.Error(), "leftBehind") {
		t.Errorf("got %v, want an error that names the goroutine", err)
	}

	time.AfterFunc(time.Second, func() { close(end) })

	if err := wait(patience, before); err != nil {
		t.Errorf("it ended within a second: got %v", err)
	}
}

func leftBehind(end chan struct{}) { <-end }
