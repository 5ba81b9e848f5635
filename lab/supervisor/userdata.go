// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// userData returns the user data of a node, or nil for none.
func (s *Supervisor) userData(node *state.Node) []byte {
	text, err := s.lab.UserData(node.Name)
	if err != nil {
		s.log.Error("user data not read", "node", node.Name, "error", err)
	}

	return text
}

// instance returns what the metadata server of a network knows of a node. On a cloud it knows the node's card on that network. Without one
// it knows all cards, because the node's requests have the hardware address of the first in their URL, to whichever network it sends them.
func (s *Supervisor) instance(n *world.Network, node *state.Node) metadata.Instance {
	in := metadata.Instance{UserData: s.userData(node)}
	if n.Services.Cloud != metadata.Metal {
		return in
	}

	in.ID = node.UUID
	for i := range node.Cards {
		in.Cards = append(in.Cards, metadata.Card{MAC: node.Cards[i].HardwareAddr()})
	}

	return in
}

// serial returns the serial number of a virtual machine: on NoCloud it names the metadata server.
func (s *Supervisor) serial(node *state.Node) string {
	n, ok := s.lab.World.Network(node.Cards[0].Network)
	if !ok || n.Services.Cloud != metadata.NoCloud {
		return ""
	}

	return "ds=nocloud;s=http://" + gateway.PortName + "." + s.lab.Domain + "/"
}

// userDataEnv returns the environment of a container with user data: base64 of gzip, since the kernel limits the length of a variable.
func userDataEnv(text []byte) []string {
	if text == nil {
		return nil
	}

	var packed bytes.Buffer

	w := gzip.NewWriter(&packed)
	_, _ = w.Write(text) // to a buffer
	_ = w.Close()

	return []string{"USERDATA=" + base64.StdEncoding.EncodeToString(packed.Bytes())}
}
