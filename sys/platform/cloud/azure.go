// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"
)

// azure is Azure's instance metadata service. https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service
var azure = cloud{
	places: at(everywhere),
	header: map[string]string{"Metadata": "true"},
	user: []user{
		{path: "metadata/instance/compute/userData?api-version=2021-12-13&format=text", decode: fromBase64},
		// The custom data, which is only on the CD that the host has attached for the first start.
		{path: ovfVolume, decode: fromCustomData},
	},
	documents: []string{azureInstance, azureBalancer},
	parse: func(docs documents, r *reader) Machine {
		var (
			in       azureMachine
			balancer azureFrontends
			m        Machine
		)

		if r.json(docs, azureInstance, &in) {
			m = in.machine(r)
		}

		r.json(docs, azureBalancer, &balancer)

		for _, pair := range balancer.LoadBalancer.PublicIPAddresses {
			if a := r.addr("frontendIpAddress", strings.Trim(pair.Frontend, "[]")); a.IsValid() {
				m.External = append(m.External, a)
			}
		}

		return m
	},
	report: reportAzure,
}

const (
	azureInstance = "metadata/instance?api-version=2021-12-13"
	azureBalancer = "metadata/loadbalancer?api-version=2021-05-01"
)

type azureMachine struct {
	Compute struct {
		Name       string `json:"name"`
		Location   string `json:"location"`
		Zone       string `json:"zone"`
		FaultZone  string `json:"platformFaultDomain"`
		VMID       string `json:"vmId"`
		VMSize     string `json:"vmSize"`
		ResourceID string `json:"resourceId"`
		Eviction   string `json:"evictionPolicy"`
		Tags       string `json:"tags"`
		OSProfile  struct {
			ComputerName string `json:"computerName"`
		} `json:"osProfile"`
	} `json:"compute"`
	Network struct {
		Interface []struct {
			MAC  string         `json:"macAddress"`
			IPv4 azureAddresses `json:"ipv4"`
			IPv6 azureAddresses `json:"ipv6"`
		} `json:"interface"`
	} `json:"network"`
}

type azureAddresses struct {
	IPAddress []struct {
		Private string `json:"privateIpAddress"`
		Public  string `json:"publicIpAddress"`
	} `json:"ipAddress"`
}

type azureFrontends struct {
	LoadBalancer struct {
		PublicIPAddresses []struct {
			Frontend string `json:"frontendIpAddress"`
		} `json:"publicIpAddresses"`
	} `json:"loadbalancer"`
}

func (in *azureMachine) machine(r *reader) Machine {
	c := in.Compute
	m := Machine{
		Hostname: c.OSProfile.ComputerName, Region: strings.ToLower(c.Location), Zone: c.FaultZone, InstanceType: c.VMSize, InstanceID: c.ResourceID,
		Spot: c.Eviction != "",
	}

	if c.Zone != "" { // zones are numbered in each region
		m.Zone = m.Region + "-" + c.Zone
	}

	if c.ResourceID != "" {
		m.ProviderID = "azure://" + lowerGroup(c.ResourceID)
	}

	for tag := range strings.SplitSeq(c.Tags, ";") {
		if name, value, ok := strings.Cut(tag, ":"); ok {
			m.tag(name, value)
		}
	}

	for _, card := range in.Network.Interface {
		for _, a := range append(card.IPv4.IPAddress, card.IPv6.IPAddress...) {
			if public := r.addr("publicIpAddress", a.Public); public.IsValid() {
				m.External = append(m.External, public)
			}
		}

		if mac := r.mac("macAddress", card.MAC); mac != "" {
			m.Links = append(m.Links, Link{MAC: mac, DHCP4: len(card.IPv4.IPAddress) > 0, DHCP6: len(card.IPv6.IPAddress) > 0})
		}
	}

	return m
}

// lowerGroup returns a resource id with the name of its group in lower case, as the cloud controller manager compares it.
func lowerGroup(id string) string {
	parts := strings.Split(id, "/")

	for i := 1; i < len(parts); i++ {
		if strings.EqualFold(parts[i-1], "resourceGroups") {
			parts[i] = strings.ToLower(parts[i])
		}
	}

	return strings.Join(parts, "/")
}

// wireServer is the host's agent. Azure fails the creation of a machine that does not report to it.
const wireServer = "http://168.63.129.16/machine"

type azureGoal struct {
	Incarnation string `xml:"Incarnation"`
	Container   string `xml:"Container>ContainerId"`
	Instance    string `xml:"Container>RoleInstanceList>RoleInstance>InstanceId"`
}

type azureHealth struct {
	XMLName     xml.Name `xml:"Health"`
	Incarnation string   `xml:"GoalStateIncarnation"`
	Container   string   `xml:"Container>ContainerId"`
	Instance    string   `xml:"Container>RoleInstanceList>Role>InstanceId"`
	State       string   `xml:"Container>RoleInstanceList>Role>Health>State"`
}

func reportAzure(ctx context.Context, fetch Fetch) error {
	text, err := fetch(ctx, Request{URL: wireServer + "?comp=goalstate", Header: map[string]string{"x-ms-version": "2012-11-30"}})
	if err != nil {
		return fmt.Errorf("read the goal state: %w", err)
	}

	body, err := azureReady(text)
	if err != nil {
		return err
	}

	_, err = fetch(ctx, Request{
		Method: "POST", URL: wireServer + "?comp=health", Body: body,
		Header: map[string]string{"x-ms-version": "2012-11-30", "x-ms-agent-name": "talos", "Content-Type": "text/xml;charset=utf-8"},
	})

	return err
}

// azureReady returns the report for a goal state.
func azureReady(goalState []byte) ([]byte, error) {
	var goal azureGoal
	if err := xml.Unmarshal(goalState, &goal); err != nil {
		return nil, fmt.Errorf("read the goal state: %w", err)
	}

	if goal.Container == "" || goal.Instance == "" {
		return nil, fmt.Errorf("read the goal state: container %q, instance %q: want both", goal.Container, goal.Instance)
	}

	body, err := xml.Marshal(azureHealth{Incarnation: goal.Incarnation, Container: goal.Container, Instance: goal.Instance, State: "Ready"})
	if err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}

	return append([]byte(xml.Header), body...), nil
}
