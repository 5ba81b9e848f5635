// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// TestOperatorScripts runs the scripts of the state machine: after each look come its actions, the conditions and what runs. -rewrite
// rewrites the results; commit only what you understand. A look has the name of the machine and, one a line, the wanted operators:
//
//	look node
//	eth0 dhcp4|dhcp6 [default] [link=1 [up|lower]] [seen] [other] [managed] [metric=5]
//
// where lower is a link that is up and has no carrier, and the options after it are what routers advertise.
func TestOperatorScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/operators", func(t *testing.T, path string) {
		var s operatorState

		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var (
				hostname string
				wanted   []wantedOperator
			)

			for _, arg := range d.CmdArgs {
				hostname = arg.Key
			}

			for line := range strings.Lines(d.Input) {
				wanted = append(wanted, parseWanted(t, strings.Fields(line)))
			}

			next, actions, conditions := s.next(hostname, wanted)
			s = next

			out := &strings.Builder{}

			for _, action := range actions {
				switch a := action.(type) {
				case stopOperator:
					fmt.Fprintln(out, "stop", a.id)
				case startOperator:
					fmt.Fprintln(out, "start", a.id+[...]string{"", " stateless", " stateful"}[a.mode])
				case checkLease:
					fmt.Fprintln(out, "check", a.id)
				}
			}

			for _, id := range slices.Sorted(maps.Keys(conditions)) {
				fmt.Fprintf(out, "%s %s: %s\n", conditions[id].State, id, conditions[id].Cause)
			}

			return fmt.Sprint(out, "running ", slices.Sorted(maps.Keys(s.running)))
		})
	})
}

func parseWanted(t *testing.T, words []string) wantedOperator {
	t.Helper()

	w := wantedOperator{id: words[1] + "/" + words[0], spec: network.OperatorSpecSpec{
		LinkName: words[0], RequireUp: true, Operator: network.OperatorDHCP4, Layer: network.LayerConfiguration,
	}}

	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		number, _ := strconv.Atoi(value)

		switch key {
		case "dhcp4":
		case "dhcp6":
			w.spec.Operator = network.OperatorDHCP6
		case "default":
			w.spec.Layer = network.LayerDefault
		case "metric":
			w.spec.DHCP4.RouteMetric = uint32(number)
		case "link":
			w.link = &network.LinkStatusSpec{Index: uint32(number), OperationalState: nethelpers.OperStateDown}
			w.kernel.Index = uint32(number)
		case "up":
			w.link.Flags, w.link.OperationalState = nethelpers.LinkUp, nethelpers.OperStateUp
		case "lower":
			w.link.Flags, w.link.OperationalState = nethelpers.LinkUp, nethelpers.OperStateLowerLayerDown
		case "seen":
			w.kernel.Router |= netlink.RouterSeen
		case "other":
			w.kernel.Router |= netlink.RouterSeen | netlink.RouterOtherConfig
		case "managed":
			w.kernel.Router |= netlink.RouterSeen | netlink.RouterManaged
		default:
			t.Fatalf("unknown word %q", word)
		}
	}

	return w
}
