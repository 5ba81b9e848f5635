// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// TestStopWhenNobodyAnswers stops a lab whose supervisor hangs: it accepts the connection and sends nothing.
func TestStopWhenNobodyAnswers(t *testing.T) {
	real := stopTime
	stopTime = 50 * time.Millisecond

	t.Cleanup(func() { stopTime = real })

	supervisor := exec.CommandContext(t.Context(), "sleep", "600")
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_ = supervisor.Wait() // it is killed
	}()

	s := &state.Lab{
		Dir: t.TempDir(), Name: "hung",
		World: world.World{Networks: []world.Network{{Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24")}}},
		Nodes: []state.Node{{Name: "a", Cards: []world.Card{{Network: "lab", MAC: "52:54:00:00:00:02"}}}},
	}

	var err error
	if s.Supervisor, err = state.Identify(supervisor.Process.Pid); err != nil {
		t.Fatal(err)
	}

	if err := s.Create(); err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("unix", s.SocketPath())
	if err != nil {
		t.Skipf("the path of the socket is too long here: %v", err)
	}
	defer l.Close()

	found, err := Open(s.Dir)
	if err != nil {
		t.Fatal(err)
	}

	if err := found.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}

	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the supervisor was not ended")
	}

	if got, err := filepath.Glob(filepath.Join(s.Dir, "*")); err != nil || len(got) > 0 {
		t.Errorf("left: %v, %v", got, err)
	}
}
