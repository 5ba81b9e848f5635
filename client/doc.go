// SPDX-License-Identifier: Apache-2.0

// Package client talks to the API of machines.
//
// A Client distributes its calls over the given endpoints, and skips endpoints that do not answer. An endpoint serves a call
// itself, or forwards it to the node that WithNode names:
//
//	c, err := client.New([]string{"172.20.0.2"}, client.WithCertificates(ca, crt, key))
//	version, err := c.Version(client.WithNode(ctx, "172.20.0.3"))
//
// One call goes to one node. For several nodes make several calls, each with its own answer and error.
//
// Streams are returned as io.ReadCloser (logs, dmesg) or as iterators (events, health, resources), and end with their context.
// Errors are gRPC statuses with the name of the call in front. Explain adds what to try next.
package client
