// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const userData = "version: v1alpha1\nmachine: {}\n"

// testInstance has two cards, the first with both protocols.
func testInstance(platform string) Instance {
	return Instance{
		Platform: platform, Name: "node-1", Domain: "lab.example", Type: "large", Project: "4711", Region: "north", Zone: "north-1",
		UserData: []byte(userData), Tags: map[string]string{"role": "worker"}, Public4: netip.MustParseAddr("198.51.100.7"),
		DNS: []netip.Addr{netip.MustParseAddr("10.5.0.1")},
		Cards: []Card{{
			MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}, MTU: 1500,
			Addrs:   []netip.Prefix{netip.MustParsePrefix("10.5.0.2/24"), netip.MustParsePrefix("fd05::2/64")},
			Routers: []netip.Addr{netip.MustParseAddr("10.5.0.1"), netip.MustParseAddr("fd05::1")},
		}, {
			MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 3}, MTU: 1400,
			Addrs: []netip.Prefix{netip.MustParsePrefix("10.6.0.2/24")},
		}},
	}
}

// ask is a client's request: its method and path, and headers as "Name: value".
type ask struct {
	request string
	headers []string
	port    string // the client's port, an unprivileged one if empty
	status  int    // 200 if zero
	want    string // the body, or a part of it after "…"; JSON's value after "/path/in/json="
}

func TestPlatforms(t *testing.T) {
	google, azureHeader, bearer := []string{"Metadata-Flavor: Google"}, []string{"Metadata: true"}, []string{"Authorization: Bearer Oracle"}
	wire := []string{"x-ms-version: 2012-11-30"}
	base64User := base64Of([]byte(userData))

	tests := map[string][]ask{
		"aws": {
			{request: "GET /latest/user-data", status: 401},
			{request: "PUT /latest/api/token", status: 400},
			{request: "PUT /latest/api/token", headers: []string{"X-aws-ec2-metadata-token-ttl-seconds: 99999"}, status: 400},
			{request: "PUT /latest/api/token", headers: []string{"X-aws-ec2-metadata-token-ttl-seconds: 60", "X-Forwarded-For: 10.5.0.9"}, status: 403},
			{request: "GET /latest/api/token", status: 405},
			{request: "GET /latest/user-data", headers: []string{"X-aws-ec2-metadata-token: guess"}, status: 401},
			{request: "TOKEN /latest/api/token X-aws-ec2-metadata-token-ttl-seconds X-aws-ec2-metadata-token"},
			{request: "GET /latest/user-data", want: userData},
			{request: "GET /2021-03-23/meta-data/local-hostname", want: "node-1.lab.example"},
			{request: "GET /latest/meta-data/instance-id", want: "i-525400000002"},
			{request: "GET /latest/meta-data/placement/", want: "availability-zone\nregion"},
			{request: "GET /latest/meta-data/placement/region", want: "north"},
			{request: "GET /latest/meta-data/instance-type", want: "large"},
			{request: "GET /latest/meta-data/local-ipv4", want: "10.5.0.2"},
			{request: "GET /latest/meta-data/public-ipv4", want: "198.51.100.7"},
			{request: "GET /latest/meta-data/ipv6", want: "fd05::2"},
			{request: "GET /latest/meta-data/tags/instance/", want: "role"},
			{request: "GET /latest/meta-data/network/interfaces/macs/", want: "52:54:00:00:00:02/\n52:54:00:00:00:03/"},
			{request: "GET /latest/meta-data/network/interfaces/macs/52:54:00:00:00:03/device-number", want: "1"},
			{request: "GET /latest/dynamic/instance-identity/document", want: "/region=north"},
			{request: "GET /latest/meta-data/spot", status: 404},
			{request: "POST /latest/meta-data/instance-id", status: 405},
		},
		"alibabacloud": {
			{request: "GET /latest/user-data", want: userData},
			{request: "GET /latest/user-data", headers: []string{"X-aliyun-ecs-metadata-token: guess"}, status: 401},
			{request: "TOKEN /latest/api/token X-aliyun-ecs-metadata-token-ttl-seconds X-aliyun-ecs-metadata-token"},
			{request: "GET /latest/meta-data/hostname", want: "node-1.lab.example"},
			{request: "GET /latest/meta-data/region-id", want: "north"},
			{request: "GET /latest/meta-data/zone-id", want: "north-1"},
			{request: "GET /latest/meta-data/eipv4", want: "198.51.100.7"},
			{request: "GET /latest/meta-data/instance/instance-type", want: "large"},
			{request: "GET /latest/meta-data/network/interfaces/macs/52:54:00:00:00:02/gateway", want: "10.5.0.1"},
		},
		"akamai": {
			{request: "GET /v1/user-data", status: 401},
			{request: "TOKEN /v1/token Metadata-Token-Expiry-Seconds Metadata-Token"},
			{request: "GET /v1/user-data", want: base64User},
			{request: "GET /v1/instance", headers: []string{"Accept: application/json"}, want: "/label=node-1"},
			{request: "GET /v1/instance", want: "…region: north"},
			{request: "GET /v1/instance", want: "…id: 90520730730498"},
			{request: "GET /v1/network", headers: []string{"Accept: application/json"}, want: "/ipv4/public/0=198.51.100.7/32"},
			{request: "GET /v1/network", headers: []string{"Accept: application/json"}, want: "/ipv6/slaac=fd05::2/64"},
			{request: "GET /v1/network", want: "…ipv4.public: 198.51.100.7/32"},
		},
		"azure": {
			{request: "GET /metadata/instance?api-version=2021-12-13", status: 400},
			{request: "GET /metadata/instance", headers: azureHeader, status: 400, want: "…newest-versions"},
			{request: "GET /metadata/instance?api-version=2021-12-13", headers: append(azureHeader, "X-Forwarded-For: 10.5.0.9"), status: 400},
			{request: "GET /metadata/instance?api-version=2021-12-13", headers: azureHeader, want: "/compute/osProfile/computerName=node-1"},
			{request: "GET /metadata/instance/compute?api-version=2021-12-13&format=json", headers: azureHeader, want: "/location=north"},
			{request: "GET /metadata/instance/compute/userData?api-version=2021-12-13&format=text", headers: azureHeader, want: base64User},
			{request: "GET /metadata/instance/compute/userData?api-version=2021-12-13", headers: azureHeader, status: 400},
			{request: "GET /metadata/instance/compute/none?api-version=2021-12-13", headers: azureHeader, status: 404},
			{request: "GET /metadata/instance/network/interface/0?api-version=2021-12-13", headers: azureHeader, want: "/macAddress=525400000002"},
			{request: "GET /metadata/instance/network/interface/0/ipv6/ipAddress/0/privateIpAddress?api-version=2021-12-13&format=text",
				headers: azureHeader, want: "fd05::2"},
			{request: "GET /metadata/instance/network?api-version=2021-12-13", headers: azureHeader, want: "/interface/0/ipv4/subnet/0/prefix=24"},
			{request: "GET /metadata/loadbalancer?api-version=2020-10-01", headers: azureHeader,
				want: "/loadbalancer/publicIpAddresses/0/frontendIpAddress=198.51.100.7"},
			{request: "GET /?comp=versions", want: "…<Version>2012-11-30</Version>"},
			{request: "GET /machine/?comp=goalstate", status: 400},
			{request: "GET /machine/?comp=goalstate", headers: wire, want: "…<Incarnation>1</Incarnation>"},
			{request: "POST /machine/?comp=health", headers: wire},
			{request: "GET /machine/?comp=other", headers: wire, status: 404},
		},
		"cloudstack": {
			{request: "GET /latest/user-data", want: userData},
			{request: "GET /latest/meta-data/local-hostname", want: "node-1"},
			{request: "GET /latest/meta-data/vm-id", want: "i-525400000002"},
			{request: "GET /latest/meta-data/public-ipv4", want: "198.51.100.7"},
			{request: "GET /latest/meta-data/availability-zone", want: "north-1"},
			{request: "GET /latest/meta-data/", want: "…service-offering"},
		},
		"digital-ocean": {
			{request: "GET /metadata/v1/user-data", want: userData},
			{request: "GET /metadata/v1/hostname", want: "node-1.lab.example"},
			{request: "GET /metadata/v1/id", want: "90520730730498"},
			{request: "GET /metadata/v1/region", want: "north"},
			{request: "GET /metadata/v1/interfaces/", want: "private/\npublic/"},
			{request: "GET /metadata/v1/interfaces/public/0/ipv4/address", want: "10.5.0.2"},
			{request: "GET /metadata/v1.json", want: "/interfaces/public/0/ipv4/ip_address=10.5.0.2"},
			{request: "GET /metadata/v1/interfaces/private/0/mac", want: "52:54:00:00:00:03"},
			{request: "GET /metadata/v1/dns/nameservers", want: "10.5.0.1"},
			{request: "GET /metadata/v1.json", want: "/interfaces/public/0/ipv6/cidr=64"},
		},
		"equinixMetal": {
			{request: "GET /userdata", want: userData},
			{request: "GET /metadata", want: "/hostname=node-1"},
			{request: "GET /metadata", want: "/network/addresses/1/address=fd05::2"},
			{request: "GET /metadata", want: "/network/interfaces/1/mac=52:54:00:00:00:03"},
			{request: "GET /other", status: 404},
		},
		"exoscale": {
			{request: "GET /latest/user-data", want: userData},
			{request: "GET /1.0/user-data", want: userData},
			{request: "GET /1.0/meta-data/local-hostname", want: "node-1"},
			{request: "GET /latest/meta-data/cloud-identifier", want: "4711"},
		},
		"gcp": {
			{request: "GET /computeMetadata/v1/instance/hostname", status: 403},
			{request: "GET /computeMetadata/v1/instance/hostname", headers: append(google, "X-Forwarded-For: 10.5.0.9"), status: 403},
			{request: "GET /computeMetadata/v1/instance/attributes/user-data", headers: google, want: userData},
			{request: "GET /computeMetadata/v1/instance/hostname", headers: google, want: "node-1.lab.example"},
			{request: "GET /computeMetadata/v1/instance/zone", headers: google, want: "projects/4711/zones/north-1"},
			{request: "GET /computeMetadata/v1/instance/network-interfaces/", headers: google, want: "0/\n1/"},
			{request: "GET /computeMetadata/v1/instance/network-interfaces/0/ip", headers: google, want: "10.5.0.2"},
			{request: "GET /computeMetadata/v1/instance/network-interfaces/0/access-configs/0/external-ip", headers: google, want: "198.51.100.7"},
			{request: "GET /computeMetadata/v1/instance/scheduling/preemptible", headers: google, want: "FALSE"},
			{request: "GET /computeMetadata/v1/instance/id", headers: google, want: "90520730730498"},
			{request: "GET /computeMetadata/v1/project/project-id", headers: google, want: "4711"},
			{request: "GET /computeMetadata/v1/?recursive=true", headers: google, want: "/instance/networkInterfaces/0/accessConfigs/0/externalIp=198.51.100.7"},
			{request: "GET /computeMetadata/v1/instance/?recursive=true&alt=json", headers: google, want: "/attributes/user-data=" + userData},
			{request: "GET /computeMetadata/v1/instance/network-interfaces/?recursive=true", headers: google, want: "/1/mtu=1400"},
			{request: "GET /computeMetadata/v1/none", headers: google, status: 404},
			{request: "GET /", want: "computeMetadata/"},
		},
		"hcloud": {
			{request: "GET /hetzner/v1/userdata", want: userData},
			{request: "GET /hetzner/v1/metadata/hostname", want: "node-1.lab.example"},
			{request: "GET /hetzner/v1/metadata/instance-id", want: "90520730730498"},
			{request: "GET /hetzner/v1/metadata/public-ipv4", want: "198.51.100.7"},
			{request: "GET /hetzner/v1/metadata", want: "%/network-config/config/0/subnets/1/address=fd05::2/64"},
			{request: "GET /hetzner/v1/metadata", want: "%/region=north"},
			{request: "GET /hetzner/v1/metadata/network-config", want: "%/config/0/mac_address=52:54:00:00:00:02"},
			{request: "GET /hetzner/v1/metadata/private-networks", want: "%/0/network=10.6.0.0/24"},
		},
		"nocloud": {
			{request: "GET /user-data", want: userData},
			{request: "GET /a/folder/user-data", want: userData},
			{request: "GET /a/folder/meta-data", want: "%/local-hostname=node-1"},
			{request: "GET /network-config", want: "%/ethernets/eth0/addresses/1=fd05::2/64"},
			{request: "GET /network-config", want: "%/ethernets/eth1/match/macaddress=52:54:00:00:00:03"},
			{request: "GET /network-config", want: "%/ethernets/eth0/routes/0/via=10.5.0.1"},
			{request: "GET /vendor-data", want: ""},
			{request: "GET /other", status: 404},
		},
		"openstack": {
			{request: "GET /openstack/latest/user_data", want: userData},
			{request: "GET /openstack/2018-08-27/user_data", want: userData},
			{request: "GET /openstack", want: "…latest"},
			{request: "GET /openstack/latest/meta_data.json", want: "/hostname=node-1.lab.example"},
			{request: "GET /openstack/latest/meta_data.json", want: "/meta/role=worker"},
			{request: "GET /openstack/latest/network_data.json", want: "/networks/1/ip_address=fd05::2"},
			{request: "GET /openstack/latest/network_data.json", want: "/networks/0/routes/0/gateway=10.5.0.1"},
			{request: "GET /openstack/latest/network_data.json", want: "/links/1/ethernet_mac_address=52:54:00:00:00:03"},
			{request: "GET /openstack/latest/network_data.json", want: "/services/0/address=10.5.0.1"},
			{request: "GET /openstack/latest/vendor_data.json", want: "{}"},
			{request: "GET /latest/meta-data/public-ipv4", want: "198.51.100.7"},
			{request: "GET /2009-04-04/meta-data/instance-id", want: "i-525400000002"},
		},
		"oracle": {
			{request: "GET /opc/v2/instance/", status: 403},
			{request: "GET /opc/v2/instance/", headers: bearer, want: "/hostname=node-1"},
			{request: "GET /opc/v2/instance/metadata/user_data", headers: bearer, want: base64User},
			{request: "GET /opc/v2/instance/region", headers: bearer, want: "north"},
			{request: "GET /opc/v2/vnics/", headers: bearer, want: "/0/privateIp=10.5.0.2"},
			{request: "GET /opc/v2/vnics/", headers: bearer, want: "/0/ipv6Addresses/0=fd05::2"},
			{request: "GET /opc/v1/instance/metadata/user_data", want: base64User},
		},
		"scaleway": {
			{request: "GET /user_data/cloud-init", status: 403},
			{request: "GET /user_data/cloud-init", port: "1023", want: userData},
			{request: "GET /user_data", port: "1", want: "/user_data/0=cloud-init"},
			{request: "GET /conf?format=json", want: "/hostname=node-1"},
			{request: "GET /conf?format=json", want: "/location/zone_id=north-1"},
			{request: "GET /conf?format=json", want: "/public_ips/1/address=fd05::2"},
			{request: "GET /conf?format=json", want: "/private_nics/0/mac_address=52:54:00:00:00:03"},
			{request: "GET /conf", want: "…HOSTNAME=node-1"},
		},
		"upcloud": {
			{request: "GET /metadata/v1/user_data", want: userData},
			{request: "GET /metadata/v1/hostname", want: "node-1.lab.example"},
			{request: "GET /metadata/v1/network/interfaces/0/ip_addresses/1/address", want: "fd05::2"},
			{request: "GET /metadata/v1.json", want: "/network/interfaces/1/mac=52:54:00:00:00:03"},
			{request: "GET /metadata/v1.json", want: "/region=north-1"},
		},
		"vultr": {
			{request: "GET /latest/user-data", want: userData},
			{request: "GET /v1/hostname", want: "node-1"},
			{request: "GET /v1/region/regioncode", want: "north"},
			{request: "GET /v1/interfaces/0/ipv4/address", want: "10.5.0.2"},
			{request: "GET /v1.json", want: "/interfaces/0/ipv6/prefix=64"},
			{request: "GET /v1/", want: "…interfaces/"},
		},
	}

	for _, platform := range Platforms() {
		t.Run(platform, func(t *testing.T) {
			server, err := New([]Instance{testInstance(platform)})
			if err != nil {
				t.Fatal(err)
			}

			if len(tests[platform]) == 0 {
				t.Fatal("this platform has no test")
			}

			var token string // as a header, once the client has one

			for _, a := range tests[platform] {
				if words := strings.Fields(a.request); words[0] == "TOKEN" {
					given := do(server, ask{request: "PUT " + words[1], headers: []string{words[2] + ": 60"}})
					token = words[3] + ": " + given.Body.String()

					continue
				}

				if token != "" {
					a.headers = append(slices.Clone(a.headers), token)
				}

				check(t, a, do(server, a))
			}
		})
	}
}

func do(server *Server, a ask) *httptest.ResponseRecorder {
	method, target, _ := strings.Cut(a.request, " ")
	r := httptest.NewRequest(method, target, nil)

	r.RemoteAddr = net.JoinHostPort("10.5.0.2", "40000")
	if a.port != "" {
		r.RemoteAddr = net.JoinHostPort("10.5.0.2", a.port)
	}

	for _, h := range a.headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}

	w := httptest.NewRecorder()
	server.Serve(w, r, "node-1")

	return w
}

func check(t *testing.T, a ask, w *httptest.ResponseRecorder) {
	t.Helper()

	status, got := a.status, w.Body.String()
	if status == 0 {
		status = http.StatusOK
	}

	if w.Code != status {
		t.Errorf("%s %v: got status %d (%s), want %d", a.request, a.headers, w.Code, got, status)

		return
	}

	if part, ok := strings.CutPrefix(a.want, "…"); ok {
		if !strings.Contains(got, part) {
			t.Errorf("%s: got %q, want a part %q", a.request, got, part)
		}

		return
	}

	path, isYAML := strings.CutPrefix(a.want, "%")
	if strings.HasPrefix(path, "/") {
		path, want, _ := strings.Cut(path, "=")

		var v any
		if err := unmarshal(isYAML, []byte(got), &v); err != nil {
			t.Errorf("%s: %v in %s", a.request, err, got)
		}

		if got := at(v, strings.Split(path, "/")[1:]); got != want {
			t.Errorf("%s: got %q at %s, want %q", a.request, got, path, want)
		}

		return
	}

	if status == http.StatusOK && got != a.want {
		t.Errorf("%s: got %q, want %q", a.request, got, a.want)
	}
}

func unmarshal(isYAML bool, b []byte, v any) error {
	if isYAML {
		return yaml.Unmarshal(b, v)
	}

	return json.Unmarshal(b, v)
}

// at returns the text of the value at a path in a decoded document.
func at(v any, path []string) string {
	docs := make(tree)
	docs.leaves("", toObjects(v))

	return string(docs["/"+strings.Join(path, "/")].body)
}

// toObjects converts decoded lists to objects with numbers as names.
func toObjects(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := object{}
		for name, below := range v {
			out[name] = toObjects(below)
		}

		return out
	case []any:
		out := object{}
		for i, below := range v {
			out[itoa(i)] = toObjects(below)
		}

		return out
	}

	return v
}

func itoa(i int) string { return string(rune('0' + i)) } // lists in tests are short
