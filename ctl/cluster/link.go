// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/netswitch"
)

// cardLinks describes the faults of the links of a machine's cards.
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

// describe describes the faults of a link.
func describe(l netswitch.Link) string {
	switch {
	case l == netswitch.Link{}:
		return "good"
	case l.In == l.Out:
		return l.In.String()
	case l.Out == netswitch.Impairment{}:
		return "in: " + l.In.String()
	case l.In == netswitch.Impairment{}:
		return "out: " + l.Out.String()
	}

	return "in: " + l.In.String() + ", out: " + l.Out.String()
}
