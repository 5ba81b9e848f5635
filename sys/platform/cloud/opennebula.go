// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// opennebula passes its documents on a file system with the label CONTEXT: shell assignments in one file.
// https://docs.opennebula.io/6.10/management_and_operations/references/kvm_contextualization.html
var opennebula = cloud{
	places:    at("volume://CONTEXT/"),
	user:      []user{{path: contextFile, decode: contextUserData}},
	documents: []string{contextFile},
	parse: func(docs documents, r *reader) Machine {
		vars, err := shellVariables(docs[contextFile])
		if err != nil {
			r.ignore(contextFile, err)
		}

		m := Machine{Hostname: cmp.Or(vars["SET_HOSTNAME"], vars["HOSTNAME"], vars["NAME"]), InstanceID: vars["VMID"]}
		if m.InstanceID != "" {
			m.ProviderID = "opennebula://" + m.InstanceID
		}

		m.Resolvers = r.addrs("DNS", strings.Fields(vars["DNS"]))
		m.SearchDomains = strings.Fields(vars["SEARCH_DOMAIN"])

		for _, name := range slices.Sorted(maps.Keys(vars)) {
			card, ok := strings.CutSuffix(name, "_MAC")
			if !ok || !strings.HasPrefix(card, "ETH") || strings.Contains(card, "_") {
				continue
			}

			mac := r.mac(name, vars[name])
			if mac == "" {
				continue
			}

			m.Links = append(m.Links, contextLink(Link{MAC: mac}, card+"_", vars, r))
			m.Resolvers = append(m.Resolvers, r.addrs(card+"_DNS", strings.Fields(vars[card+"_DNS"]))...)
			m.SearchDomains = append(m.SearchDomains, strings.Fields(vars[card+"_SEARCH_DOMAIN"])...)
		}

		return m
	},
}

const contextFile = "context.sh"

func contextLink(link Link, card string, vars map[string]string, r *reader) Link {
	if mtu := r.mtu(card+"MTU", vars[card+"MTU"]); mtu > 0 {
		link.MTU = mtu
	}

	switch method := vars[card+"METHOD"]; method {
	case "", "static":
		if ip := vars[card+"IP"]; ip != "" {
			link.add(r.masked(card+"IP", ip, cmp.Or(vars[card+"MASK"], "255.255.255.0")))
			link.defaultRoute(r.addr(card+"GATEWAY", vars[card+"GATEWAY"]), r.metric(card+"METRIC", vars[card+"METRIC"]))
		}
	case "dhcp":
		link.DHCP4 = true
	case "skip":
	default:
		r.ignore(card+"METHOD", fmt.Errorf("%q is not supported", method))
	}

	switch method := vars[card+"IP6_METHOD"]; method {
	case "", "static":
		if ip := vars[card+"IP6"]; ip != "" {
			link.add(r.masked(card+"IP6", ip, cmp.Or(vars[card+"IP6_PREFIX_LENGTH"], "64")))
			link.defaultRoute(r.addr(card+"IP6_GATEWAY", cmp.Or(vars[card+"IP6_GATEWAY"], vars[card+"GATEWAY6"])), r.metric(card+"IP6_METRIC", vars[card+"IP6_METRIC"]))
		}
	case "dhcp":
		link.DHCP6 = true
	case "auto", "disable", "skip":
	default:
		r.ignore(card+"IP6_METHOD", fmt.Errorf("%q is not supported", method))
	}

	return link
}

func contextUserData(_ documents, text []byte) ([]byte, error) {
	vars, err := shellVariables(text)
	if err != nil {
		return nil, err
	}

	data := []byte(vars["USER_DATA"])
	if vars["USER_DATA_ENCODING"] == "base64" {
		return fromBase64(nil, data)
	}

	return data, nil
}

// shellVariables reads lines of NAME='value', where a value may span lines; a quote in it is written as '\”. Nothing is expanded.
func shellVariables(text []byte) (map[string]string, error) {
	vars := map[string]string{}

	for rest := string(text); rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			rest = after

			continue
		}

		name, _, ok := strings.Cut(line, "=")
		if !ok {
			return vars, fmt.Errorf("line %q is not an assignment", shorten(line))
		}

		value, after, err := shellValue(rest[len(name)+1:])
		if err != nil {
			return vars, fmt.Errorf("%s: %w", shorten(name), err)
		}

		vars[strings.TrimPrefix(strings.TrimSpace(name), "export ")] = value
		rest = after
	}

	return vars, nil
}

// shellValue reads a word of a shell, and returns what follows its line.
func shellValue(text string) (value, rest string, err error) {
	var out strings.Builder

	for text != "" {
		switch quote := text[0]; quote {
		case '\n', ' ', '\t', '\r':
			_, rest, _ = strings.Cut(text, "\n")

			return out.String(), rest, nil
		case '\'', '"':
			inside, after, closed := strings.Cut(text[1:], string(quote))
			if !closed {
				return "", "", fmt.Errorf("the quote %c is not closed", quote)
			}

			out.WriteString(inside)
			text = after
		case '\\':
			if len(text) < 2 {
				return "", "", errors.New("the text ends with a backslash")
			}

			out.WriteByte(text[1])
			text = text[2:]
		default:
			out.WriteByte(quote)
			text = text[1:]
		}
	}

	return out.String(), "", nil
}

func shorten(text string) string {
	const most = 40
	if len(text) > most {
		return text[:most] + "…"
	}

	return text
}
