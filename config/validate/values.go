// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/secrets"
)

var (
	// dnsLabel is one part of a DNS name (RFC 1123).
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// labelName is the part of a Kubernetes label key after the slash. Values have the same form.
	labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	// imageReference matches all container image references. The registry rejects those that do not exist.
	imageReference = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9.:/_@+-]*$`)
)

// dnsName reports whether text is a DNS name. DNS ignores case.
func dnsName(text string) bool {
	text = strings.ToLower(text)

	return len(text) > 0 && len(text) <= 253 && !slices.ContainsFunc(strings.Split(text, "."), func(label string) bool {
		return !dnsLabel.MatchString(label)
	})
}

// labelKey reports whether text is a key of a Kubernetes label, annotation or taint.
func labelKey(text string) bool {
	prefix, name, found := strings.Cut(text, "/")
	if !found {
		return labelName.MatchString(text)
	}

	return dnsName(prefix) && labelName.MatchString(name)
}

// prefixOrAddress parses "192.0.2.1/24" or "192.0.2.1".
func prefixOrAddress(text string) (netip.Prefix, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix, true
	}

	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, false
	}

	return netip.PrefixFrom(addr, addr.BitLen()), true
}

// token checks a join token. Messages do not have its value, which is a secret.
func (c *check) token(path, value string) {
	switch {
	case value == "":
		c.wrong(path, "is missing: copy it from the configuration of another machine of the cluster, or generate one with \"talosctl gen config\"")
	case !secrets.Token.MatchString(value):
		c.wrong(path, "is not a token: want 6 and 16 lower-case letters or digits with a dot between")
	}
}

// subnets checks a list of networks, each with an optional "!" in front.
func (c *check) subnets(path string, list []string) {
	for i, text := range list {
		if _, err := netip.ParsePrefix(strings.TrimPrefix(text, "!")); err != nil {
			c.wrong(index(path, i), "%q is not a network: want one such as 10.0.0.0/8, with ! in front to exclude it", text)
		}
	}
}

func (c *check) image(path, reference string) {
	if reference != "" && !imageReference.MatchString(reference) {
		c.wrong(path, "%q is not an image reference: want registry/name:tag", reference)
	}
}

// oneOf checks that a value is empty or one of those allowed.
func (c *check) oneOf(path, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.wrong(path, "unknown value %q: want one of %s", value, strings.Join(allowed, ", "))
	}
}
