// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"net/netip"
	"strings"
)

// CheckSubnets calls wrong for each text of a list that is not a network with an optional "!" in front.
func CheckSubnets(list []string, wrong func(i int, problem string)) {
	for i, text := range list {
		if _, err := netip.ParsePrefix(strings.TrimPrefix(text, "!")); err != nil {
			wrong(i, fmt.Sprintf("%q is not a network: want one such as 10.0.0.0/8, with ! in front to exclude it", text))
		}
	}
}
