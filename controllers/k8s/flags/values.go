// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// checkValue returns why a flag does not take a value. Types that are not listed here are parsed by the program's own code.
func (p *program) checkValue(flag, kind, value string) (err error) {
	// The kubelet expands variables of the container.
	if strings.Contains(value, "$(") {
		return nil
	}

	if flag == "feature-gates" {
		return p.checkGates(value)
	}

	want := kind

	switch kind {
	case "bool":
		_, err = strconv.ParseBool(value)
		want = "true or false"
	case "int", "int64":
		_, err = strconv.ParseInt(value, 0, 64)
		want = "a whole number"
	case "int32":
		_, err = strconv.ParseInt(value, 0, 32)
		want = "a whole number"
	case "uint", "uint64":
		_, err = strconv.ParseUint(value, 0, 64)
		want = "a whole number that is not negative"
	case "float32", "float64":
		_, err = strconv.ParseFloat(value, 64)
		want = "a number"
	case "duration":
		_, err = time.ParseDuration(value)
		want = "a duration such as 30s"
	case "ip":
		_, err = netip.ParseAddr(value)
		want = "an IP address"
	}

	if err != nil {
		return fmt.Errorf("%q is not valid: want %s", value, want)
	}

	return nil
}

// checkGates checks NAME=BOOL,…; a name may be limited to one component: kube:NAME=BOOL.
func (p *program) checkGates(value string) error {
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}

		name, setting, found := strings.Cut(item, "=")
		if _, plain, ok := strings.Cut(name, ":"); ok {
			name = plain
		}

		on, err := strconv.ParseBool(setting)
		if !found || err != nil {
			return fmt.Errorf("%q: want NAME=true or NAME=false", item)
		}

		kind, known := p.gates[name]
		if !known {
			return fmt.Errorf("%s has no feature gate %q", p.version, name)
		}

		if locked, isLocked := strings.CutPrefix(kind, "gate="); isLocked && locked != strconv.FormatBool(on) {
			return fmt.Errorf("the feature gate %s is always %s in %s", name, locked, p.version)
		}
	}

	return nil
}
