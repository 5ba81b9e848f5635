// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"math"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/flags"
)

// minorOf returns the minor version of Kubernetes 1.x in an image's tag. An image without a version in its tag (a digest, a custom build) counts
// as current.
func minorOf(image string) int {
	minor, _ := strings.CutPrefix(flags.Version(image), "1.")

	n, err := strconv.Atoi(minor)
	if err != nil {
		return math.MaxInt
	}

	return n
}
