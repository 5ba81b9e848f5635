// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"regexp"
)

// imageReference is the shape of a reference: the registry judges the rest.
var imageReference = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9.:/_@+-]*$`)

// Image is the reference of a container image.
type Image string

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Image) UnmarshalText(text []byte) error {
	if len(text) > 0 && !imageReference.Match(text) {
		return fmt.Errorf("%q is not an image reference: want registry/name:tag", text)
	}

	*i = Image(text)

	return nil
}

// Format implements Formatted.
func (Image) Format() Format {
	return Format{About: "an image reference", Example: "registry.k8s.io/kube-apiserver:v1.36.0"}
}
