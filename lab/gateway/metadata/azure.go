// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// azure is Azure's instance metadata service, and the part of its host agent (WireServer, at 168.63.129.16) to which a
// machine reports that it is ready.
var azure = platform{
	name:  "azure",
	addrs: append(addrs("168.63.129.16"), everywhere),
	lists: false,
	refuse: func(r *http.Request) (int, string) {
		if !strings.HasPrefix(r.URL.Path, "/metadata") {
			if r.Header.Get("x-ms-version") == "" && r.URL.Query().Get("comp") != "versions" {
				return http.StatusBadRequest, "missing x-ms-version"
			}

			return 0, ""
		}

		if !strings.EqualFold(r.Header.Get("Metadata"), "true") || r.Header.Get("X-Forwarded-For") != "" {
			return http.StatusBadRequest, `{"error": "Bad request. Required metadata header not specified"}`
		}

		if r.URL.Query().Get("api-version") == "" {
			return http.StatusBadRequest,
				`{"error": "Bad request. api-version was not specified in the request", "newest-versions": ["2025-04-07", "2023-11-15", "2021-12-13"]}`
		}

		return 0, ""
	},
	render: func(*Instance) tree { return nil }, // the form depends on the request
	serve: func(w http.ResponseWriter, r *http.Request, in *Instance, _ tree) bool {
		if !strings.HasPrefix(r.URL.Path, "/metadata") {
			wireServer(w, r, in)

			return true
		}

		path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/metadata"), "/"), "/")

		part, ok := dig(azureMetadata(in), path)
		if !ok {
			http.Error(w, `{"error": "Not found"}`, http.StatusNotFound)

			return true
		}

		leaf, isText := part.(string)

		switch asText := r.URL.Query().Get("format") == "text"; {
		case asText && isText:
			text(leaf).write(w)
		case asText:
			docs := tree{}
			docs.leaves("", part)
			lines(docs.below("")).write(w)
		case isText:
			http.Error(w, `{"error": "Requested format is not allowed, please contact admin"}`, http.StatusBadRequest)
		default:
			jsonDocument(part).write(w)
		}

		return true
	},
}

func azureMetadata(in *Instance) object {
	var cards []object

	for _, card := range in.Cards {
		cards = append(cards, object{
			"macAddress": strings.ToUpper(strings.ReplaceAll(card.MAC.String(), ":", "")),
			"ipv4":       azureAddresses(card.addr4(), "privateIpAddress", hostText(in.Public4)),
			"ipv6":       azureAddresses(card.addr6(), "privateIpAddress", ""),
		})
	}

	var tags []string
	for _, name := range slices.Sorted(maps.Keys(in.Tags)) {
		tags = append(tags, name+":"+in.Tags[name])
	}

	return object{
		"instance": object{
			"compute": object{
				"azEnvironment": "AzurePublicCloud", "location": in.Region, "zone": in.Zone, "name": in.Name,
				"osProfile": object{"computerName": in.Name}, "osType": "Linux", "provider": "Microsoft.Compute",
				"vmId": in.uuid(), "vmSize": in.Type, "subscriptionId": in.Project, "resourceGroupName": in.Domain,
				"resourceId":          "/subscriptions/" + in.Project + "/resourceGroups/" + in.Domain + "/providers/Microsoft.Compute/virtualMachines/" + in.Name,
				"platformFaultDomain": "0", "platformUpdateDomain": "0", "evictionPolicy": "", "priority": "",
				"tags": strings.Join(tags, ";"), "userData": base64Of(in.UserData),
			},
			"network": object{"interface": cards},
		},
		"loadbalancer": object{"loadbalancer": object{
			"publicIpAddresses": azurePublic(in), "inboundRules": []object{}, "outboundRules": []object{},
		}},
	}
}

func azureAddresses(p netip.Prefix, name, public string) object {
	if !p.IsValid() {
		return object{"ipAddress": []object{}}
	}

	address := object{name: p.Addr().String()}
	subnet := object{"address": p.Masked().Addr().String(), "prefix": strconv.Itoa(p.Bits())}

	if p.Addr().Is4() {
		address["publicIpAddress"] = public
	}

	return object{"ipAddress": []object{address}, "subnet": []object{subnet}}
}

func azurePublic(in *Instance) []object {
	pairs := []object{}

	for _, pair := range []struct {
		public  netip.Addr
		private string
	}{{in.Public4, in.ipv4()}, {in.Public6, in.ipv6()}} {
		if pair.public.IsValid() {
			pairs = append(pairs, object{"frontendIpAddress": pair.public.String(), "privateIpAddress": pair.private})
		}
	}

	return pairs
}

// wireServer answers the host agent's protocol: the goal state that a machine needs for its report, and the report
// itself.
func wireServer(w http.ResponseWriter, r *http.Request, in *Instance) {
	comp := r.URL.Query().Get("comp")
	kind := "text/xml; charset=utf-8"

	switch {
	case comp == "versions":
		document{kind, []byte(`<?xml version="1.0" encoding="utf-8"?><Versions><Preferred><Version>2015-04-05</Version></Preferred>` +
			`<Supported><Version>2015-04-05</Version><Version>2012-11-30</Version></Supported></Versions>`)}.write(w)
	case comp == "goalstate" && r.Method == http.MethodGet:
		document{kind, []byte(`<?xml version="1.0" encoding="utf-8"?><GoalState><Version>2012-11-30</Version><Incarnation>1</Incarnation>` +
			`<Machine><ExpectedState>Started</ExpectedState></Machine><Container><ContainerId>` + in.uuid() + `</ContainerId>` +
			`<RoleInstanceList><RoleInstance><InstanceId>` + in.uuid() + `</InstanceId><State>Started</State></RoleInstance></RoleInstanceList>` +
			`</Container></GoalState>`)}.write(w)
	case comp == "health" && r.Method == http.MethodPost:
		w.WriteHeader(http.StatusOK)
	default:
		http.NotFound(w, r)
	}
}
