// SPDX-License-Identifier: Apache-2.0

// Package podimages serves the image service of CRI to the kubelet, in front of containerd's, while the configuration has rules about images. Each
// call is passed on as it came, except PullImage: the image is verified first, and containerd is then asked for the digest that was verified.
//
// containerd has verifiers of its own (io.containerd.image-verifier.v1), but only for pulls by its transfer service. With the settings of this
// system (layers are discarded after they were unpacked; logins of registries) and with some that users may make, CRI pulls do not use that
// service, and no verifier is called. So pulls are verified before they reach containerd.
package podimages
