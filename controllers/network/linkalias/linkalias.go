// SPDX-License-Identifier: Apache-2.0

// Package linkalias chooses the network cards that the configuration gives a second name.
//
// A setting selects cards by an expression over their status. Only network cards have second names, not links that software created:
// these have the name that their document gives them. A card gets the first name that is meant for it.
package linkalias

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/expression"
	"github.com/seed-59268b81/talos/resources/network"
)

// numbered is the part of a name that the number of a link replaces.
const numbered = "%d"

// compile compiles an expression over a link.
func compile(text string) (expression.Program, error) {
	return expression.Compile(text, fields(network.LinkStatusSpec{}))
}

// Check returns what is wrong with the expressions of a configuration.
func Check(cfg *view.Config) []validate.Finding {
	var findings []validate.Finding

	for _, s := range cfg.LinkAliases() {
		if _, err := compile(s.Match); err != nil {
			findings = append(findings, validate.Finding{Path: s.At, Text: err.Error()})
		}
	}

	return findings
}

// Chooser chooses links. It keeps the compiled expressions of its last settings. The zero value is ready for use.
type Chooser struct{ compiled map[string]compiled }

type compiled struct {
	program expression.Program
	err     error
}

// Choose returns the second names by the names of the links, and the condition of each setting by its name.
func (c *Chooser) Choose(settings []view.LinkAlias, links map[string]network.LinkStatusSpec) (aliases map[string]string, conditions map[string]network.SpecConditionSpec) {
	aliases, conditions = map[string]string{}, map[string]network.SpecConditionSpec{}
	c.compile(settings)

	for _, s := range settings {
		matches, err := c.matching(s.Match, links)
		matches = slices.DeleteFunc(matches, func(link string) bool { return aliases[link] != "" })
		conditions[s.Name] = condition(s.Name, matches, err)

		if conditions[s.Name].State != network.SpecApplied {
			continue
		}

		for i, link := range matches {
			aliases[link] = strings.ReplaceAll(s.Name, numbered, fmt.Sprint(i))
		}
	}

	return aliases, conditions
}

func condition(name string, matches []string, err error) network.SpecConditionSpec {
	switch {
	case err != nil:
		return network.SpecConditionSpec{State: network.SpecRefused, Cause: err.Error()}
	case len(matches) == 0:
		return network.SpecConditionSpec{State: network.SpecWaiting, Cause: "no network card without another alias matches"}
	case len(matches) > 1 && !strings.Contains(name, numbered):
		return network.SpecConditionSpec{
			State: network.SpecConflict, Cause: fmt.Sprintf("%s match: want one, or %s in the name", strings.Join(matches, ", "), numbered),
		}
	default:
		return network.SpecConditionSpec{}
	}
}

// compile compiles new expressions, and forgets those that are not used any more.
func (c *Chooser) compile(settings []view.LinkAlias) {
	next := map[string]compiled{}

	for _, s := range settings {
		known, ok := c.compiled[s.Match]
		if !ok {
			known.program, known.err = compile(s.Match)
		}

		next[s.Match] = known
	}

	c.compiled = next
}

// matching returns the network cards that an expression selects, in the order of their hardware addresses.
func (c *Chooser) matching(text string, links map[string]network.LinkStatusSpec) ([]string, error) {
	e := c.compiled[text]
	if e.err != nil {
		return nil, e.err
	}

	var names []string

	for _, name := range slices.Sorted(maps.Keys(links)) {
		if l := links[name]; l.Physical() {
			ok, err := e.program.Matches(fields(l))
			if err != nil {
				return nil, fmt.Errorf("link %s: %w", name, err)
			}

			if ok {
				names = append(names, name)
			}
		}
	}

	slices.SortStableFunc(names, func(a, b string) int { return bytes.Compare(links[a].Permanent(), links[b].Permanent()) })

	return names, nil
}

// fields are those of a link in expressions, by their names on the wire. A number is signed, as a literal in an expression is.
func fields(l network.LinkStatusSpec) map[string]any {
	return map[string]any{
		"link.index": int64(l.Index), "link.type": int64(l.Type), "link.link_index": int64(l.LinkIndex), "link.flags": int64(l.Flags),
		"link.hardware_addr": []byte(l.HardwareAddr), "link.permanent_addr": []byte(l.Permanent()), "link.broadcast_addr": []byte(l.BroadcastAddr),
		"link.mtu": int64(l.MTU), "link.queue_disc": l.QueueDisc, "link.master_index": int64(l.MasterIndex), "link.operational_state": int64(l.OperationalState),
		"link.kind": l.Kind, "link.slave_kind": l.SlaveKind, "link.bus_path": l.BusPath, "link.pciid": l.PCIID, "link.driver": l.Driver,
		"link.driver_version": l.DriverVersion, "link.firmware_version": l.FirmwareVersion, "link.product_id": l.ProductID, "link.vendor_id": l.VendorID,
		"link.product": l.Product, "link.vendor": l.Vendor, "link.link_state": l.LinkState, "link.speed_megabits": int64(l.SpeedMegabits),
		"link.port": int64(l.Port), "link.duplex": int64(l.Duplex), "link.alias": l.Alias, "link.alt_names": l.AltNames,
	}
}
