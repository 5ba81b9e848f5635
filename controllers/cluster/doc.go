// SPDX-License-Identifier: Apache-2.0

// Package cluster holds the controllers of the machine's place among others: its identity, and how it finds the other machines of its cluster.
//
// Each machine announces itself at several sources, which do not know each other: the discovery services of the configuration, and the one that
// each control plane carries. It learns about the others from one of them, and from another one when that fails.
//
//	configuration, hostname, addresses, etcd → Affiliate of this machine      LocalAffiliateController
//	configuration, control planes            → DiscoverySources, announcements DiscoveryServiceController
//	the source that is watched               → raw Affiliates                  roster
//	Nodes of Kubernetes                      → raw Affiliates                  k8s.KubernetesPullController
//	raw Affiliates, newest first             → Affiliates                      AffiliateMergeController
//	Affiliates                               → Members                         MemberController
//	Members                                  → Endpoint of the control plane   EndpointController
//
// A source is not trusted. What it passes on is encrypted with the cluster's secret, so it can only repeat what machines of the cluster have
// announced, or leave it out. Each announcement has a revision, and the highest one counts, from whichever source it comes. What a source has
// not said for some time is kept until another one, which knows the whole cluster, has it neither. All of it is kept on the volume STATE too:
// a machine that boots while no source answers knows the members that it knew before.
package cluster
