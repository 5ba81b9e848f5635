// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Metal is the platform of machines that are on no cloud. Its server has the machine's configuration at ConfigPath, for the kernel argument
// talos.config.
const Metal = "metal"

// ConfigPath is the path of the configuration on Metal. A request for it may say which machine sends it, by the variables of talos.config:
// ?uuid=…&mac=…&hostname=…. The UUID is Instance.ID, and the card one of Instance.Cards. The server refuses a request that names another machine than the one that sends it.
const ConfigPath = "/config"

// NoCloud is the platform whose machines find the server by their serial number.
const NoCloud = "nocloud"

var metal = platform{
	name: Metal,
	render: func(in *Instance) tree {
		docs := tree{}
		docs.user(ConfigPath, in)

		return docs
	},
	serve: func(w http.ResponseWriter, r *http.Request, in *Instance, _ tree) bool {
		query := r.URL.Query()

		var macs []string
		for _, card := range in.Cards {
			macs = append(macs, card.MAC.String())
		}

		for _, variable := range []struct {
			name  string
			valid []string
		}{
			{"uuid", []string{in.ID}}, {"mac", macs}, {"hostname", []string{in.Name, in.fqdn()}},
		} {
			same := func(valid string) bool { return strings.EqualFold(valid, query.Get(variable.name)) }

			if query.Has(variable.name) && !slices.ContainsFunc(variable.valid, same) {
				http.Error(w, fmt.Sprintf("the %s of this machine is another one: %s", variable.name, variable.valid[0]), http.StatusForbidden)

				return true
			}
		}

		return false
	},
}
