// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"

	"go.yaml.in/yaml/v4"
)

// vmware is VMware's hypervisor. It passes values by their names (guestinfo.NAME) to a machine, and the properties of a vApp as an OVF
// environment: a value, or a file on a CD. The metadata is that of cloud-init's data source.
// https://docs.cloud-init.io/en/latest/reference/datasources/vmware.html
var vmware = cloud{
	places: at(guestinfo),
	user: []user{
		encodedUser("talos.config"),
		{path: "ovfEnv", decode: fromOVF},
		encodedUser("userdata"),
		{path: ovfVolume, decode: fromOVF},
	},
	documents: []string{vmwareMetadata, vmwareMetadata + encodingSuffix},
	parse: func(docs documents, r *reader) (m Machine) {
		text, err := decodeValue(docs[vmwareMetadata], docs.text(vmwareMetadata+encodingSuffix))
		if err != nil {
			r.ignore(vmwareMetadata, err)

			return m
		}

		var meta vmwareMeta

		if !r.yaml(documents{vmwareMetadata: text}, vmwareMetadata, &meta) {
			return m
		}

		m.Hostname, m.InstanceID = cmp.Or(meta.Hostname, meta.LocalHostname), meta.InstanceID

		if network := meta.Network.read(meta.NetworkEncoding, r); network != nil {
			network.read(&m, r)
		}

		return m
	},
}

const (
	// guestinfo begins the URLs of the values that VMware's hypervisor passes to a machine.
	guestinfo      = "guestinfo://"
	vmwareMetadata = "metadata"
	// ovfVolume is the OVF environment on a CD.
	ovfVolume = volumes + AnyLabel + "/ovf-env.xml"
)

type vmwareMeta struct {
	InstanceID      string        `yaml:"instance-id"`
	LocalHostname   string        `yaml:"local-hostname"`
	Hostname        string        `yaml:"hostname"`
	Network         vmwareNetwork `yaml:"network"`
	NetworkEncoding string        `yaml:"network.encoding"`
}

// vmwareNetwork is a network configuration, or the text of an encoded one.
type vmwareNetwork struct {
	config *networkConfig
	text   string
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (n *vmwareNetwork) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&n.text)
	}

	return node.Decode(&n.config)
}

// read returns the network configuration, or nil if there is none.
func (n *vmwareNetwork) read(encoding string, r *reader) *networkConfig {
	if n.text == "" {
		return n.config
	}

	const what = vmwareMetadata + ": network"

	text, err := decodeValue([]byte(n.text), encoding)
	if err != nil {
		r.ignore(what, err)

		return nil
	}

	var config networkConfig
	if !r.yaml(documents{what: text}, what, &config) {
		return nil
	}

	return &config
}
