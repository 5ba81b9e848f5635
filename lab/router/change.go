// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/seed-59268b81/talos/lab/nat"
)

// Set changes the setting of a leg. A NAT that stays the same keeps its mappings; a new one has none.
func (c *Core) Set(name string, s Setting) error {
	l, err := c.leg(name)
	if err != nil {
		return err
	}

	if !reflect.DeepEqual(l.NAT, s.NAT) {
		next := l.Leg
		next.NAT = s.NAT

		table, err := next.newTable()
		if err != nil {
			return fmt.Errorf("leg %q: %w", name, err)
		}

		l.table = table
	}

	l.Setting = s

	return nil
}

// newTable returns the table of the leg's NAT, nil without one.
func (l *Leg) newTable() (*nat.Table, error) {
	if l.NAT == nil {
		return nil, nil
	}

	if err := l.validate(); err != nil {
		return nil, err
	}

	filled := *l.NAT
	filled.External = l.external()

	return nat.New(filled)
}

func (c *Core) leg(name string) (*leg, error) {
	var all []string

	for _, l := range c.legs {
		if l.Name == name {
			return l, nil
		}

		all = append(all, l.Name)
	}

	return nil, fmt.Errorf("there is no leg %q: there is %s", name, strings.Join(all, ", "))
}
