// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// parseLinks returns the links that the arguments vlan= and bond= describe, and the errors of the others.
func parseLinks(c cmdline.Cmdline) (links []view.Link, errs []error) {
	for _, value := range c.All("bond") {
		bond, err := cmdline.ParseBond(value)
		if err != nil {
			errs = append(errs, err)

			continue
		}

		settings, err := bondOptions(bond.Options)
		if err != nil {
			errs = append(errs, fmt.Errorf("kernel argument bond=%s: %w", value, err))

			continue
		}

		links = append(links, view.Link{At: "kernel argument bond=", Name: bond.Name, MTU: bond.MTU, Bond: &settings, Ports: bond.Ports})
	}

	for _, value := range c.All("vlan") {
		vlan, err := cmdline.ParseVLAN(value)
		if err != nil {
			errs = append(errs, err)

			continue
		}

		links = append(links, view.Link{At: "kernel argument vlan=", Name: vlan.Name, VLAN: &view.VLAN{ID: vlan.ID, Parent: vlan.Parent}})
	}

	return links, errs
}

// bondOptions returns the settings of a bond. The kernel's names of the options differ from the configuration's in underscores and capital
// letters only: xmit_hash_policy is xmitHashPolicy.
func bondOptions(options []cmdline.Option) (out view.Bond, err error) {
	fields := strict.Fields(reflect.TypeOf(out.Bond))
	node := &yaml.Node{Kind: yaml.MappingNode}

	for _, o := range options {
		key, value := "", &yaml.Node{Kind: yaml.ScalarNode, Value: o.Value}

		for name, field := range fields {
			if !strings.EqualFold(name, strings.ReplaceAll(o.Name, "_", "")) {
				continue
			}

			key = name

			switch field.Type {
			case reflect.TypeFor[*bool](): // the kernel's are numbers
				value.Value = cmp.Or(map[string]string{"0": "false", "1": "true"}[o.Value], o.Value)
			case reflect.TypeFor[[]string]():
				list := &yaml.Node{Kind: yaml.SequenceNode}
				for element := range strings.SplitSeq(o.Value, ";") {
					list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: element})
				}

				value = list
			}
		}

		if key == "" {
			return out, fmt.Errorf("unknown option %q", o.Name)
		}

		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	}

	problems := strict.Decode(node, &out.Bond)
	if len(problems) == 0 {
		_, err = bondSpec(&out)

		return out, err
	}

	return out, fmt.Errorf("option %s: %s", problems[0].Path, problems[0].Text)
}
