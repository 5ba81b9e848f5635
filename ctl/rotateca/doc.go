// SPDX-License-Identifier: Apache-2.0

// Package rotateca is "talosctl rotate-ca": it replaces the authorities (CAs) of the machines' API and of Kubernetes in a running cluster.
//
// Three steps, each in effect on every node before the next begins:
//
//  1. accept: every node accepts the certificates of both authorities.
//  2. issue: the new authority signs, and every certificate of the cluster is replaced. The old one is still accepted.
//  3. remove: the old authority is not accepted any more.
//
// From step 2 on servers send a bridge (pki.CA.Bridge) after their certificates, so that clients that trust only the old authority accept
// them: administrators with the former talosconfig or kubeconfig, until step 3 refuses their certificates, and pods that read the authority at
// their start. There is no bridge in the other direction: with it, a stolen key of the old authority would be good for more than the old
// authority is. So the new talosconfig is written after step 2.
//
// The nodes' configurations are the only record of a rotation. rotation.go reads from them how far each node is (its level), which is all
// that a later run needs to continue: a step changes only nodes that are behind it. Only the key of a new authority that no node issues with
// yet is in no configuration. A run that finds such an authority replaces it by another.
//
// The core is pure: trust.go (what a configuration says), rotation.go (what to change), edit.go (the change as text), patience.go (when to
// give up). Around it: cluster.go talks to the nodes, check_machine.go and check_kubernetes.go look whether a change is in effect, run.go
// is the order of it all.
package rotateca
