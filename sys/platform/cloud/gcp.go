// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"fmt"
	"strings"
)

// gcp is Google Compute Engine. https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys
var gcp = cloud{
	places:    at(everywhere, "http://[fd20:ce::254]/"),
	header:    map[string]string{"Metadata-Flavor": "Google"},
	user:      []user{{path: gcpRoot + "instance/attributes/user-data"}},
	documents: []string{gcpInstance, gcpProject},
	parse: func(docs documents, r *reader) Machine {
		var in gcpMachine
		if !r.json(docs, gcpInstance, &in) {
			return Machine{}
		}

		m := Machine{
			Hostname: in.Hostname, InstanceID: in.ID.String(), InstanceType: lastPart(in.MachineType), Zone: lastPart(in.Zone),
			Spot: strings.EqualFold(in.Scheduling.Preemptible, "true"), TimeServers: []string{"metadata.google.internal"},
		}

		// A region is the zone without its last letter.
		if i := strings.LastIndex(m.Zone, "-"); i > 0 {
			m.Region = m.Zone[:i]
		}

		for _, tag := range in.Tags {
			m.tag(tag, "")
		}

		for _, name := range gcpAttributes {
			if value, ok := in.Attributes[name]; ok {
				m.tag(name, value)
			}
		}

		if project := docs.text(gcpProject); project != "" && in.Name != "" {
			m.ProviderID = fmt.Sprintf("gce://%s/%s/%s", project, m.Zone, in.Name)
		}

		for i, card := range in.NetworkInterfaces {
			link := Link{MAC: r.mac("mac", card.MAC), MTU: card.MTU, DHCP4: card.IP != "", DHCP6: len(card.IPv6s) > 0}
			if link.MAC == "" {
				continue
			}

			m.Links = append(m.Links, link)

			if i == 0 {
				m.Resolvers = r.addrs("dnsServers", card.DNSServers)
			}

			for _, access := range card.AccessConfigs {
				if a := r.addr("externalIp", access.ExternalIP); a.IsValid() {
					m.External = append(m.External, a)
				}
			}
		}

		return m
	},
}

const (
	gcpRoot     = "computeMetadata/v1/"
	gcpInstance = gcpRoot + "instance/?recursive=true"
	gcpProject  = gcpRoot + "project/project-id"
)

// gcpAttributes are the attributes that become tags: those which Google's own services set to say what a machine belongs to. All others may be
// secret, which tags are not: the configuration, scripts, keys, and what the owner has set.
var gcpAttributes = []string{"cluster-location", "cluster-name", "cluster-uid", "created-by", "instance-template"}

// lastPart returns the name at the end of the path of an object.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

type gcpMachine struct {
	ID          number            `json:"id"`
	Name        string            `json:"name"`
	Hostname    string            `json:"hostname"`
	Zone        string            `json:"zone"`
	MachineType string            `json:"machineType"`
	Attributes  map[string]string `json:"attributes"`
	Tags        []string          `json:"tags"`
	Scheduling  struct {
		Preemptible string `json:"preemptible"`
	} `json:"scheduling"`
	NetworkInterfaces []struct {
		MAC           string   `json:"mac"`
		MTU           uint32   `json:"mtu"`
		IP            string   `json:"ip"`
		IPv6s         []string `json:"ipv6s"`
		DNSServers    []string `json:"dnsServers"`
		AccessConfigs []struct {
			ExternalIP string `json:"externalIp"`
		} `json:"accessConfigs"`
	} `json:"networkInterfaces"`
}
