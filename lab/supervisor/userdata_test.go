// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

func TestUserDataOfNodes(t *testing.T) {
	const text = "version: v1alpha1\nmachine: {}\n"

	with := state.Node{Name: "with", UUID: "u", Cards: []world.Card{{Network: "lab", MAC: "52:54:00:00:00:02"}, {Network: "other", MAC: "52:54:00:00:00:03"}}}
	without := state.Node{Name: "without", UUID: "v", Cards: []world.Card{{Network: "lab"}}}
	s := &Supervisor{log: slog.New(slog.DiscardHandler), lab: &state.Lab{
		Dir: t.TempDir(), Domain: "demo.lab.internal", Nodes: []state.Node{with, without}, World: world.World{Networks: []world.Network{{Name: "lab"}}},
	}}
	network := &s.lab.World.Networks[0]

	if err := os.MkdirAll(s.lab.NodeDir("with"), 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(s.lab.UserDataPath("with"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ cloud, id, cards, serial string }{
		{"", "", "", ""}, {"hcloud", "", "", ""}, {"metal", "u", "52:54:00:00:00:02 52:54:00:00:00:03", ""}, {"nocloud", "", "", "ds=nocloud;s=http://gateway.demo.lab.internal/"},
	} {
		network.Services.Cloud = tt.cloud

		got := s.instance(network, &with)

		var cards []string
		for _, card := range got.Cards {
			cards = append(cards, card.MAC.String())
		}

		if string(got.UserData) != text || got.ID != tt.id || strings.Join(cards, " ") != tt.cards {
			t.Errorf("cloud %q: got %+v, want the user data, the id %q and the cards %q", tt.cloud, got, tt.id, tt.cards)
		}

		if got := s.serial(&with); got != tt.serial {
			t.Errorf("cloud %q: got the serial number %q, want %q", tt.cloud, got, tt.serial)
		}
	}

	if got := s.instance(network, &without); got.UserData != nil {
		t.Errorf("a node without user data has %q", got.UserData)
	}

	if got := userDataEnv(s.userData(&without)); got != nil {
		t.Errorf("a node without user data has the environment %q", got)
	}

	env := userDataEnv(s.userData(&with))

	packed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.Join(env, "\n"), "USERDATA="))
	if err != nil {
		t.Fatalf("%q: %v", env, err)
	}

	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}

	if got, err := io.ReadAll(r); err != nil || string(got) != text {
		t.Errorf("environment: got %q, %v, want %q", got, err, text)
	}
}
