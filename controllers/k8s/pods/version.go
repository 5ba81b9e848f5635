// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strconv"
	"strings"
)

// minorOf returns the minor version of Kubernetes 1.x in an image's tag; an image without a readable one (a digest,
// a build of one's own) is taken for current.
func minorOf(image string) int {
	const current = 1 << 16

	name, _, _ := strings.Cut(image, "@")

	i := strings.LastIndexByte(name, ':')
	if i < 0 || strings.Contains(name[i:], "/") {
		return current
	}

	major, rest, _ := strings.Cut(strings.TrimPrefix(name[i+1:], "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")

	n, err := strconv.Atoi(minor)
	if major != "1" || err != nil {
		return current
	}

	return n
}
