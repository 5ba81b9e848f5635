// SPDX-License-Identifier: Apache-2.0

// Package secrets is the secrets bundle: all the random and private material of a cluster in one file.
//
// Who has the bundle can make the configurations of the cluster again, and more machines for it; it is
// the one file worth a safe. New makes one, Decode and Encode read and write the file, FromConfig takes
// the material out of an existing control plane configuration, FromKubernetesPKI takes over the
// authorities of a cluster that was made with other tools.
package secrets
