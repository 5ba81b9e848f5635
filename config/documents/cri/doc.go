// SPDX-License-Identifier: Apache-2.0

// Package cri has the documents about container images and containerd.
package cri

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind {
	return []document.Kind{auth, baseRuntimeSpec, customization, imageCache, mirror, tls}
}
