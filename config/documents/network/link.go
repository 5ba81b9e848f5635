// SPDX-License-Identifier: Apache-2.0

package network

import "github.com/seed-59268b81/talos/config/document"

// LinkConfig sets up a link that exists: a network card, or what another document creates. Its name is that of the link, or an alias.
// A machine with a LinkConfig does not run DHCP on links that no document asks it for.
type LinkConfig struct {
	document.Named `yaml:",inline"`
	LinkSettings   `yaml:",inline"`
}

var link = document.Of[LinkConfig]("LinkConfig", `apiVersion: v1alpha1
kind: LinkConfig
name: eth0
mtu: 9000
addresses:
    - address: 192.0.2.10/24
routes:
    - gateway: 192.0.2.1
`)

// Validate implements document.Validator.
func (l *LinkConfig) Validate(r *document.Report) { l.validate(r, "") }
