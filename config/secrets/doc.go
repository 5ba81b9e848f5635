// SPDX-License-Identifier: Apache-2.0

// Package secrets implements the secrets bundle: all random and private material of a cluster in one file.
//
// The bundle is enough to generate the configurations of the cluster again, and those of more machines, so it
// must be kept safe. New generates a bundle; Decode and Encode read and write the file. FromConfig extracts the
// secrets from an existing control plane configuration. FromKubernetesPKI takes the authorities of a cluster
// that other tools created.
package secrets
