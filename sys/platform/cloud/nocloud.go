// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"strings"

	"github.com/seed-59268b81/talos/sys/platform"
)

// nocloud is cloud-init's data source NoCloud: a file system with the label cidata, or a server that the serial number names.
// https://docs.cloud-init.io/en/latest/reference/datasources/nocloud.html
var nocloud = cloud{
	places: func(hw platform.Hardware) []string {
		const volume = volumes + "cidata/"

		if seed := seedURL(hw.Serial); seed != "" {
			return []string{seed, volume}
		}

		return []string{volume}
	},
	user:      []user{{path: "user-data"}},
	documents: []string{"meta-data", "network-config"},
	parse: func(docs documents, r *reader) Machine {
		var (
			meta    nocloudMeta
			network networkConfig
		)

		r.yaml(docs, "meta-data", &meta)

		m := Machine{
			Hostname: cmp.Or(meta.Hostname, meta.LocalHostname), InternalDNS: meta.InternalDNS, ExternalDNS: meta.ExternalDNS,
			InstanceID: meta.InstanceID, InstanceType: meta.InstanceType, ProviderID: meta.ProviderID, Region: meta.Region, Zone: meta.Zone,
		}

		if r.yaml(docs, "network-config", &network) {
			network.read(&m, r)
		}

		return m
	},
}

type nocloudMeta struct {
	Hostname      string `yaml:"hostname"`
	LocalHostname string `yaml:"local-hostname"`
	ExternalDNS   string `yaml:"external-dns"`
	InternalDNS   string `yaml:"internal-dns"`
	InstanceID    string `yaml:"instance-id"`
	InstanceType  string `yaml:"instance-type"`
	ProviderID    string `yaml:"provider-id"`
	Region        string `yaml:"region"`
	Zone          string `yaml:"zone"`
}

// seedURL returns the URL in a serial number such as ds=nocloud;s=http://10.5.0.1/seed/, or an empty text.
func seedURL(serial string) string {
	fields := strings.Split(serial, ";")
	if name := strings.TrimSpace(fields[0]); name != "ds=nocloud" && name != "ds=nocloud-net" {
		return ""
	}

	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		if (key == "s" || key == "seedfrom") && (strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://")) {
			return strings.TrimSuffix(value, "/") + "/"
		}
	}

	return ""
}
