// SPDX-License-Identifier: Apache-2.0

// Package lab runs clusters of virtual machines and containers on this computer,
// without root: as many as there is memory for, on a network of their own whose
// links can be made bad by command. Both kinds can be in one lab.
//
//	l, err := lab.Create(ctx, lab.Options{Name: "demo", StateDir: dir, ControlPlanes: 3, Offline: true, Image: …})
//	defer l.Destroy(ctx)
//
//	node := l.Node(0)
//	node.APIEndpoint()           // 127.0.0.1:PORT, forwarded to its port 50000
//	node.PowerCut(ctx)
//	node.SetLink(ctx, netswitch.Link{In: netswitch.Impairment{Loss: 0.1}})
//	l.Partition(ctx, []string{l.Node(0).Name}, []string{l.Node(1).Name, l.Node(2).Name})
//	node.Findings()              // what the console shows of panics and the like
//
// A lab is run by its supervisor (package supervisor), a process of its own
// that outlives the program which created the lab, or, for a test that wants
// the lab gone with itself, a goroutine of that program. Either way the lab is
// talked to through its control socket, and found again with Open.
//
// What runs inside is not this package's business: it boots machines and
// carries their frames. Clusters are made of them by talosctl cluster create.
package lab
