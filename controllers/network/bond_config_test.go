// SPDX-License-Identifier: Apache-2.0

package network

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// bondWords are the text values of a bond's keys; any other text is refused.
var bondWords = []string{
	"layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac", "slow", "fast", "02:00:00:00:00:01", "01:00:5e:00:00:01", "active", "backup", "all",
	"filter", "filter_active", "filter_backup", "any", "none", "follow", "always", "better", "failure", "stable", "bandwidth", "count", "nonsense",
}

// bondIs are values that are equal to the default.
var bondIs = map[string][]string{
	"xmitHashPolicy": {"layer2"}, "lacpRate": {"slow"}, "arpValidate": {"none"}, "arpAllTargets": {"any"}, "primaryReselect": {"always"}, "failOverMac": {"none"},
	"adSelect": {"stable"}, "miimon": {"0", "100"}, "updelay": {"0"}, "downdelay": {"0"}, "peerNotifyDelay": {"0"}, "arpInterval": {"0"}, "resendIgmp": {"1"},
	"minLinks": {"0"}, "lpInterval": {"1"}, "packetsPerSlave": {"1"}, "numPeerNotif": {"1"}, "tlbDynamicLb": {"1"}, "allSlavesActive": {"0"},
	"useCarrier": {"true"}, "adActorSysPrio": {"65535"}, "adUserPortKey": {"0"},
	"arpIPTarget": {"[]"},
}

// TestBondKeysTakeEffect sets each key of a bond to many values, in each mode and with both kinds of monitoring: each value is refused, is
// the kernel's default, or changes what is sent to the kernel.
func TestBondKeysTakeEffect(t *testing.T) {
	var accepted, refused int

	keys := reflect.TypeFor[v1alpha1.Bond]()

	cfg, err := config.Decode(configtest.Worker(t))
	if err != nil {
		t.Fatal(err)
	}

	for _, mode := range []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"} {
		for _, monitoring := range []string{"", ", arpInterval: 100, arpIPTarget: [192.0.2.1]"} {
			base := "interfaces: [eth0, eth1], mode: " + mode + monitoring
			without, err := bondFor(t, cfg, base)

			if err != nil && monitoring != "" {
				continue // no mode with ARP monitoring
			} else if err != nil {
				t.Fatal(err)
			}

			effective := map[string]bool{}

			for i := range keys.NumField() {
				key := strings.TrimSuffix(keys.Field(i).Tag.Get("yaml"), ",omitempty")
				if strings.Contains(base, key+":") || key == "deviceSelectors" {
					continue
				}

				values := bondValues(keys.Field(i).Type)
				if key == "primary" {
					values = []string{"eth1"} // another link would be waited for: TestBondFollowsItsConfiguration
				}

				for _, value := range values {
					with, err := bondFor(t, cfg, base+", "+key+": "+value)
					if err != nil {
						refused++

						continue
					}

					accepted++

					change, err := with.Change(without)
					if err != nil {
						t.Errorf("%s: %s: %v", key, value, err)
					}

					is := slices.Contains(bondIs[key], value)
					if change.Empty() != is {
						t.Errorf("mode %s%s: %s: %s is accepted; got an effect: %t, want %t", mode, monitoring, key, value, !change.Empty(), !is)
					}

					effective[key] = effective[key] || !is
				}
			}

			if !effective["xmitHashPolicy"] || mode == "802.3ad" && !effective["adActorSystem"] {
				t.Errorf("mode %s%s: got effective keys %v", mode, monitoring, effective)
			}
		}
	}

	t.Logf("%d values accepted and in effect, %d refused", accepted, refused)
}

func bondValues(typ reflect.Type) []string {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}

	switch typ.Kind() {
	case reflect.Bool:
		return []string{"true", "false"}
	case reflect.String:
		return bondWords
	case reflect.Slice:
		return []string{"[]", "[192.0.2.9]", "['2001:db8::9']", "[192.0.2.9, 192.0.2.9]", "[0.0.0.0]", "[nonsense]", "['::ffff:192.0.2.9']"}
	default:
		return []string{"0", "1", "2", "50", "100", "200", "255", "1023", "1024", "65535", "300001", "4294967295"}
	}
}

// bondFor returns the bond of a configuration as it is sent to the kernel, or why the configuration is refused.
func bondFor(t *testing.T, cfg *config.Config, bond string) (*netlink.Bond, error) {
	t.Helper()

	var b v1alpha1.Bond
	if err := yaml.Unmarshal([]byte("{"+bond+"}"), &b); err != nil {
		return nil, err
	}

	config.Find[*v1alpha1.Config](cfg).Machine.Network.Interfaces = []v1alpha1.Device{{Interface: "bond0", Bond: &b}}

	if _, err := validate.Validate(cfg, validate.Metal); err != nil {
		return nil, err
	}

	spec, err := bondSpec(&view.Bond{Bond: b})
	if err != nil {
		t.Errorf("%s: is accepted, and then: %v", bond, err)

		return nil, err
	}

	return bondOf(network.LinkSpecSpec{BondMaster: spec}, &netlink.Snapshot{Links: []netlink.Link{{Name: "eth0", Index: 1}, {Name: "eth1", Index: 2}}}), nil
}
