// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

func named(_ context.Context, _ *state.Lab, n *state.Node) ([]byte, error) {
	return []byte(n.Name), nil
}

// TestCloud checks that machines of a cloud are told so, and that its server runs on their networks.
func TestCloud(t *testing.T) {
	for _, tt := range []struct {
		cloud, args string
	}{
		{"", ""},
		{"hcloud", "talos.platform=hcloud"},
		{metadata.Metal, "talos.config=http://gateway.demo.lab.internal/config?uuid=${uuid}&mac=${mac}&hostname=${hostname}"},
	} {
		if got := strings.Join(cloudArgs(tt.cloud, "demo.lab.internal"), " "); got != tt.args {
			t.Errorf("%s: got arguments %q, want %q", tt.cloud, got, tt.args)
		}

		o := validOptions(t)
		o.Cloud, o.Image.Kernel, o.Image.Cmdline = tt.cloud, o.Image.Disk, "debug"
		o.Networks = []world.Network{{Name: "one"}, {Name: "other"}}
		o.Networks[0].Subnet4, o.Networks[1].Subnet4 = defaultSubnet, world.InternetSubnet
		o.Networks[1].Services.Cloud = "aws"

		if got := o.diskArgs(); got != nil {
			t.Errorf("%s: the disk image beside a kernel gets the arguments %q", tt.cloud, got)
		}

		s, err := o.Plan()
		if err != nil {
			t.Fatal(err)
		}

		if want := strings.TrimSpace("debug " + tt.args); s.Machine.Cmdline != want {
			t.Errorf("%s: got the command line %q, want %q", tt.cloud, s.Machine.Cmdline, want)
		}

		got := []string{s.World.Networks[0].Services.Cloud, s.World.Networks[1].Services.Cloud}
		if diff := cmp.Diff([]string{tt.cloud, "aws"}, got); diff != "" {
			t.Errorf("%s: clouds of the networks (-want +got):\n%s", tt.cloud, diff)
		}
	}
}

func TestUserData(t *testing.T) {
	o := validOptions(t)
	o.UserData = named

	if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), "none is configured") {
		t.Errorf("without a cloud: got %v, want an error", err)
	}

	o.Cloud = "nimbus"

	if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), `cloud "nimbus": want metal or one of akamai`) {
		t.Errorf("on an unknown cloud: got %v, want an error", err)
	}

	o.Cloud = "hcloud"

	if got := o.diskArgs(); len(got) != 1 || got[0] != "talos.platform=hcloud" {
		t.Errorf("the disk image gets the arguments %q", got)
	}

	s, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}

	for _, n := range s.Nodes {
		if err := os.MkdirAll(s.NodeDir(n.Name), 0o700); err != nil {
			t.Fatal(err)
		}

		if got, err := s.UserData(n.Name); err != nil || got != nil {
			t.Errorf("%s before: got %q, %v, want none", n.Name, got, err)
		}
	}

	if err := writeUserData(t.Context(), s, o.UserData); err != nil {
		t.Fatal(err)
	}

	for _, n := range s.Nodes {
		if got, err := s.UserData(n.Name); err != nil || string(got) != n.Name {
			t.Errorf("%s: got %q, %v", n.Name, got, err)
		}
	}

	refused := errors.New("refused")
	err = writeUserData(t.Context(), s, func(context.Context, *state.Lab, *state.Node) ([]byte, error) { return nil, refused })

	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "demo-controlplane-1") {
		t.Errorf("got %v, want %v of the first machine", err, refused)
	}
}
