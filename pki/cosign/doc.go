// SPDX-License-Identifier: Apache-2.0

// Package cosign makes and checks signatures of container images in the format of the program cosign, made with a key: an image of its own in the same
// repository, whose tag is made of the digest of the signed one. Each of its layers is a text with that digest, and an annotation of the layer
// is the signature of the text.
//
// It knows no registry: callers fetch what it names. Bundles of OCI 1.1 referrers and signatures without a key (Fulcio, Rekor) are not read.
package cosign
