// SPDX-License-Identifier: Apache-2.0

// Package containerimage has the steps that make container images, those of a node and those of Kubernetes' end-to-end tests,
// and join them into OCI layouts. What is made is just what config/images lists.
package containerimage
