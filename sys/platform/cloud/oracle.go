// SPDX-License-Identifier: Apache-2.0

package cloud

import "strconv"

// oracle is Oracle Cloud. https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/gettingmetadata.htm
var oracle = cloud{
	places:    at(everywhere, "http://[fd00:c1::a9fe:a9fe]/"),
	header:    map[string]string{"Authorization": "Bearer Oracle"},
	user:      []user{{path: "opc/v2/instance/metadata/user_data", decode: fromBase64}},
	documents: []string{oracleInstance, oracleVNICs},
	parse: func(docs documents, r *reader) Machine {
		var (
			in struct {
				ID       string `json:"id"`
				Hostname string `json:"hostname"`
				Shape    string `json:"shape"`
				Region   string `json:"canonicalRegionName"`
				Domain   string `json:"availabilityDomain"`
			}
			vnics []struct {
				MAC     string   `json:"macAddr"`
				Private string   `json:"privateIp"`
				Subnet  string   `json:"subnetCidrBlock"`
				IPv6    []string `json:"ipv6Addresses"`
			}
		)

		r.json(docs, oracleInstance, &in)
		r.json(docs, oracleVNICs, &vnics)

		m := Machine{Hostname: in.Hostname, Region: in.Region, Zone: in.Domain, InstanceType: in.Shape, InstanceID: in.ID}
		if in.ID != "" {
			m.ProviderID = "oci://" + in.ID
		}

		// DHCP serves the first card only.
		for i, vnic := range vnics {
			link := Link{MAC: r.mac("macAddr", vnic.MAC), DHCP4: i == 0, DHCP6: len(vnic.IPv6) > 0}
			if link.MAC == "" {
				continue
			}

			if subnet := r.prefix("subnetCidrBlock", vnic.Subnet); i > 0 && subnet.IsValid() {
				link.add(r.masked("privateIp", vnic.Private, strconv.Itoa(subnet.Bits())))
			}

			m.Links = append(m.Links, link)
		}

		return m
	},
}

const (
	oracleInstance = "opc/v2/instance/"
	oracleVNICs    = "opc/v2/vnics/"
)
