// SPDX-License-Identifier: Apache-2.0

// Package lab runs clusters of virtual machines and containers on this computer, without root, on a network of their
// own whose links can have faults. Both kinds of machines can be in one lab.
//
//	l, err := lab.Create(ctx, lab.Options{Name: "demo", StateDir: dir, ControlPlanes: 3, Offline: true, Image: …})
//	defer l.Destroy(ctx)
//
//	node := l.Node(0)
//	node.APIEndpoint()           // 127.0.0.1:PORT, forwarded to its port 50000
//	node.PowerCut(ctx)
//	node.SetLink(ctx, netswitch.Link{In: netswitch.Impairment{Loss: 0.1}})
//	l.Partition(ctx, []string{l.Node(0).Name}, []string{l.Node(1).Name, l.Node(2).Name})
//	node.Findings()              // panics and other faults on the console
//
// A lab is run by its supervisor (package supervisor): a process that outlives the program which created the lab or,
// for a test whose lab must end with it, a goroutine of that program. In both cases clients use its control socket, and
// find the lab with Open.
//
// This package only boots machines and connects them. Package lab/cluster makes them a cluster.
package lab
