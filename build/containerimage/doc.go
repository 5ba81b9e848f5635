// SPDX-License-Identifier: Apache-2.0

// Package containerimage has the steps that build container images and merge them into OCI layouts: the images of a node and
// those of Kubernetes' end-to-end tests. It builds exactly the images that config/images lists.
package containerimage
