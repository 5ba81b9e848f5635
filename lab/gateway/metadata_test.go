// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

// onCloud puts the first machine on a cloud.
func onCloud(cloud string) func(*Config) {
	return func(c *Config) {
		c.Cloud = cloud
		c.Hosts[0].Instance = metadata.Instance{Region: "north", UserData: []byte("machine: {}\n")}
	}
}

// client returns an HTTP client on the machine, with a port of its own unless that is 0.
func (m *machine) client(from uint16) *http.Client {
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				to, err := netip.ParseAddrPort(addr)
				if err != nil {
					return nil, err
				}

				return gonet.DialTCPWithBind(ctx, m.Stack, tcpip.FullAddress{NIC: nic, Port: from},
					endpoint(to.Addr(), to.Port()), protocolOf(to.Addr()))
			},
		},
	}
}

func get(client *http.Client, url string, headers ...string) (int, string, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}

	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}

	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()

	body, err := io.ReadAll(answer.Body)

	return answer.StatusCode, string(body), err
}

func TestMetadataOverTheSwitch(t *testing.T) {
	for _, tt := range []struct {
		cloud, url string
		port       uint16
		headers    []string
		status     int
		want       string
	}{
		{"gcp", "http://169.254.169.254/computeMetadata/v1/instance/hostname", 0, []string{"Metadata-Flavor: Google"}, 200, "demo-controlplane-1.demo.lab.internal"},
		{"gcp", "http://[fd20:ce::254]/computeMetadata/v1/instance/attributes/user-data", 0, []string{"Metadata-Flavor: Google"}, 200, "machine: {}\n"},
		{"gcp", "http://169.254.169.254/computeMetadata/v1/instance/hostname", 0, nil, 403, ""},
		{"aws", "http://[fd00:ec2::254]/latest/user-data", 0, nil, 401, ""},
		{"openstack", "http://169.254.169.254/openstack/latest/user_data", 0, nil, 200, "machine: {}\n"},
		{"scaleway", "http://169.254.42.42/user_data/cloud-init", 1000, nil, 200, "machine: {}\n"},
		{"scaleway", "http://[fd00:42::42]/user_data/cloud-init", 0, nil, 403, ""},
		{"alibabacloud", "http://100.100.100.200/latest/meta-data/private-ipv4", 0, nil, 200, "10.5.0.2"},
		{"cloudstack", "http://10.5.0.1/latest/user-data", 0, nil, 200, "machine: {}\n"},
		{"nocloud", "http://[fd05::1]/seed/user-data", 0, nil, 200, "machine: {}\n"},
	} {
		t.Run(tt.cloud, func(t *testing.T) {
			_, _, m := newLab(t, dualStack, onCloud(tt.cloud))
			m.waitFor(t, netip.MustParseAddr("fd05::5054:ff:fe00:2"))

			status, body, err := get(m.client(tt.port), tt.url, tt.headers...)
			if err != nil || status != tt.status || status == 200 && body != tt.want {
				t.Errorf("%s: got %d %q, %v, want %d %q", tt.url, status, body, err, tt.status, tt.want)
			}
		})
	}
}

// TestMetadataWithoutLease checks that a machine with an IPv4 address of its own choice is identified by its hardware
// address.
func TestMetadataWithoutLease(t *testing.T) {
	sw := netswitch.New(1)
	cfg := testConfig(t, onCloud("openstack"))
	newGateway(t, sw, cfg)

	early := *cfg
	early.Hosts = []Host{cfg.Hosts[0]}
	early.Subnet4, early.Hosts[0].Addr4 = linkLocal4, netip.MustParseAddr("169.254.7.7")
	m := newMachine(t, sw, &early)

	const url = "http://169.254.169.254/openstack/latest/user_data"
	if status, body, err := get(m.client(0), url); err != nil || status != 200 || body != "machine: {}\n" {
		t.Errorf("got %d %q, %v", status, body, err)
	}
}

func TestMetadataBehaviour(t *testing.T) {
	_, gw, m := newLab(t, onCloud("openstack"))

	const url = "http://169.254.169.254/openstack/latest/user_data"

	for _, tt := range []struct {
		b      MetadataBehaviour
		status int // zero for none within half a second
	}{
		{MetadataBehaviour{}, 200},
		{MetadataBehaviour{Status: 503}, 503},
		{MetadataBehaviour{Silent: true}, 0},
		{MetadataBehaviour{Delay: time.Minute}, 0},
	} {
		if err := gw.SetMetadata(tt.b); err != nil {
			t.Fatal(err)
		}

		client := m.client(0)
		if tt.status == 0 {
			client.Timeout = 500 * time.Millisecond
		}

		var late interface{ Timeout() bool }

		status, _, err := get(client, url)
		if status != tt.status || (tt.status == 0) != (errors.As(err, &late) && late.Timeout()) {
			t.Errorf("%+v: got status %d, %v, want %d", tt.b, status, err, tt.status)
		}
	}
}

func TestSetInstance(t *testing.T) {
	_, gw, m := newLab(t, onCloud("openstack"))

	if err := gw.SetInstance("demo-controlplane-1", metadata.Instance{UserData: []byte("new\n")}); err != nil {
		t.Fatal(err)
	}

	if _, body, err := get(m.client(0), "http://169.254.169.254/openstack/latest/user_data"); body != "new\n" || err != nil {
		t.Errorf("got %q, %v, want the new user data", body, err)
	}

	if err := gw.SetInstance("other", metadata.Instance{}); err == nil {
		t.Error("an unknown host was accepted")
	}

	_, plain, _ := newLab(t)
	if err := plain.SetInstance("demo-controlplane-1", metadata.Instance{}); err == nil {
		t.Error("a gateway without a metadata server accepted an instance")
	}
}

// TestMetadataNames checks that DNS has the names of clouds' servers only on their networks.
func TestMetadataNames(t *testing.T) {
	for _, tt := range []struct {
		cloud, name string
		kind        uint16
		want        string
	}{
		{"gcp", "metadata.google.internal.", dns.TypeA, "NOERROR 169.254.169.254"},
		{"gcp", "metadata.google.internal.", dns.TypeAAAA, "NOERROR fd20:ce::254"},
		{"equinixMetal", "metadata.platformequinix.com.", dns.TypeA, "NOERROR 10.5.0.1"},
		{"cloudstack", "data-server.", dns.TypeA, "NOERROR 10.5.0.1"},
		{"aws", "metadata.google.internal.", dns.TypeA, "NXDOMAIN"},
	} {
		cfg := testConfig(t, dualStack, onCloud(tt.cloud))

		if got := answerString(cfg.answerDNS(new(dns.Msg).SetQuestion(tt.name, tt.kind))); got != tt.want {
			t.Errorf("%s on %s: got %q, want %q", tt.name, tt.cloud, got, tt.want)
		}
	}
}
