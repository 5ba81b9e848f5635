// SPDX-License-Identifier: Apache-2.0

// Package client talks to the API of machines.
//
// A Client holds one connection that spreads over the given endpoints: calls go round them, and past one that does
// not answer. An endpoint serves a call itself, or forwards it to the node named by WithNode:
//
//	c, err := client.New([]string{"172.20.0.2"}, client.WithCertificates(ca, crt, key))
//	version, err := c.Version(client.WithNode(ctx, "172.20.0.3"))
//
// One call has one node. A caller who wants several nodes makes several calls, so each has its own answer and error.
//
// Streams come back as io.ReadCloser (logs, dmesg) or as iterators (events, health, resources), and end when their
// context does. Errors are gRPC statuses with the call's name in front; Explain adds what to try next.
package client
