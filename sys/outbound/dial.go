// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// dialTimeout bounds one attempt to connect. The kernel repeats the first packet at growing intervals: a new attempt reaches a server that has
// become reachable sooner.
const dialTimeout = 5 * time.Second

// resolvConf has the name servers of this machine.
const resolvConf = "/etc/resolv.conf"

// Dial connects to a server by name or address. It is for a machine whose network is coming up: it uses the name servers of this moment, and
// does not wait long for a connection.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, Resolver: &net.Resolver{PreferGo: true, Dial: dialNameServer}}

	return dialer.DialContext(ctx, network, address)
}

// dialNameServer connects to a name server. Package net reads the file at most every five seconds, so address may be that of an earlier one, or
// of the machine itself if there was none.
func dialNameServer(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer

	text, err := os.ReadFile(resolvConf)
	if err != nil {
		text = nil // package net knows what to do without the file
	}

	return dialer.DialContext(ctx, network, currentServer(string(text), address))
}

// currentServer returns the address of a name server if the file has it, else that of the first one that the file has.
func currentServer(file, address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}

	var servers []string

	for line := range strings.Lines(file) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "nameserver" {
			servers = append(servers, fields[1])
		}
	}

	if len(servers) == 0 || slices.Contains(servers, host) {
		return address
	}

	return net.JoinHostPort(servers[0], port)
}
