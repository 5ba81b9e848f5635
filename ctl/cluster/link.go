// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/netswitch"
)

// etherHeader is what DropOver of package netswitch counts beside the packet.
const etherHeader = 14

// cardLinks tells what is wrong with the links of a machine's cards.
func cardLinks(cards []control.CardStatus) string {
	var all []string

	for i, c := range cards {
		text := describe(c.Link)
		if c.Unplugged {
			text = "unplugged"
		}

		if len(cards) > 1 {
			text = fmt.Sprintf("%d: %s", i, text)
		}

		all = append(all, text)
	}

	if len(cards) > 1 && !slices.ContainsFunc(cards, func(c control.CardStatus) bool { return c.Unplugged || c.Link != netswitch.Link{} }) {
		return "good"
	}

	return strings.Join(all, "; ")
}

// describe tells what is wrong with a link.
func describe(l netswitch.Link) string {
	switch {
	case l == netswitch.Link{}:
		return "good"
	case l.In == l.Out:
		return impairment(l.In)
	case l.Out == netswitch.Impairment{}:
		return "in: " + impairment(l.In)
	case l.In == netswitch.Impairment{}:
		return "out: " + impairment(l.Out)
	}

	return "in: " + impairment(l.In) + ", out: " + impairment(l.Out)
}

func impairment(i netswitch.Impairment) string {
	if i.Cut {
		return "cut"
	}

	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }

	switch {
	case i.Jitter > 0:
		add("delay %v±%v", i.Delay, i.Jitter)
	case i.Delay > 0:
		add("delay %v", i.Delay)
	}

	for _, p := range []struct {
		name  string
		value float64
	}{{"loss", i.Loss}, {"duplicate", i.Duplicate}, {"corrupt", i.Corrupt}} {
		if p.value > 0 {
			add("%s %.3g%%", p.name, p.value*100)
		}
	}

	if i.Bandwidth > 0 {
		add("bandwidth %s", humanize.SI(float64(i.Bandwidth), "bit/s"))
	}

	if i.DropOver > 0 {
		add("packets over %d bytes lost", i.DropOver-etherHeader)
	}

	if i.Block != "" {
		add("no %s", strings.ToUpper(string(i.Block)))
	}

	return strings.Join(all, " ")
}
