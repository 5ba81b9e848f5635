// SPDX-License-Identifier: Apache-2.0

// Package server is a discovery service (sidero.discovery.server.Cluster): the members of a cluster publish themselves and watch the
// others. It holds the members in memory (package registry), for each as long as the member said. What they publish is encrypted
// (package seal), so the service cannot read it.
//
// The service answers existing clients as they expect it, texts of errors included. It differs where that helps them: an identical refresh
// is not sent to watchers, changes are collected for some 100 ms, a member that loses an endpoint is not sent as removed, and a slow
// watcher is not cut off. Our clients resume a watch (package extension), so a restart of the service costs little: a client that
// already has everything is sent nothing.
//
// After a restart, with or without a snapshot, members come back one by one. A client that has a digest of what it has waits until they
// have (see settle), instead of receiving each of them again.
package server
