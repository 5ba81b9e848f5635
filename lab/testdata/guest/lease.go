// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"golang.org/x/sys/unix"
)

// Lease is a lease from DHCP.
type Lease struct {
	Addr, Hostname   string
	Router, DNS, NTP string
	Uptime           time.Duration
}

func takeLease(card string) (*Lease, error) {
	for try := 0; ; try++ {
		if _, err := net.InterfaceByName(card); err == nil {
			break
		} else if try == 100 {
			return nil, err
		}

		time.Sleep(20 * time.Millisecond) // until the driver is ready
	}

	if err := up("lo", net.IPv4(127, 0, 0, 1), net.CIDRMask(8, 32)); err != nil {
		return nil, err
	}

	if err := up(card, nil, nil); err != nil {
		return nil, err
	}

	client, err := nclient4.New(card)
	if err != nil {
		return nil, fmt.Errorf("DHCP: %w", err)
	}
	defer client.Close()

	lease, err := client.Request(context.Background())
	if err != nil {
		return nil, fmt.Errorf("DHCP: %w", err)
	}

	ack := lease.ACK
	if err := up(card, ack.YourIPAddr, ack.SubnetMask()); err != nil {
		return nil, err
	}

	ones, _ := ack.SubnetMask().Size()

	return &Lease{
		Addr: fmt.Sprintf("%v/%d", ack.YourIPAddr, ones), Hostname: ack.HostName(),
		Router: first(ack.Router()), DNS: first(ack.DNS()), NTP: first(dhcpv4.GetIPs(dhcpv4.OptionNTPServers, ack.Options)),
	}, nil
}

// first returns the first of some addresses, or "".
func first(addrs []net.IP) string {
	if len(addrs) == 0 {
		return ""
	}

	return addrs[0].String()
}

// use configures the lease's resolver and default route.
func (l *Lease) use() error {
	if err := defaultRoute(net.ParseIP(l.Router).To4()); err != nil {
		return err
	}

	if err := os.MkdirAll("/etc", 0o755); err != nil {
		return err
	}

	return os.WriteFile("/etc/resolv.conf", fmt.Appendf(nil, "nameserver %s\n", l.DNS), 0o644)
}

// cards returns the names of network cards by hardware address.
func cards() map[string]string {
	found := map[string]string{}

	all, _ := net.Interfaces() // none if it fails, which the test sees

	for _, card := range all {
		if len(card.HardwareAddr) > 0 {
			found[card.HardwareAddr.String()] = card.Name
		}
	}

	return found
}

// up switches a card on, with or without an address.
func up(card string, addr net.IP, mask net.IPMask) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)

	if addr != nil { // the mask last, since the address sets a default mask
		if err := setAddr(socket, card, unix.SIOCSIFADDR, addr); err != nil {
			return err
		}

		if err := setAddr(socket, card, unix.SIOCSIFNETMASK, net.IP(mask)); err != nil {
			return err
		}
	}

	ifreq, err := unix.NewIfreq(card)
	if err != nil {
		return err
	}

	ifreq.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)

	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, ifreq); err != nil {
		return fmt.Errorf("switch %s on: %w", card, err)
	}

	return nil
}

func setAddr(socket int, card string, request uint, addr net.IP) error {
	ifreq, err := unix.NewIfreq(card)
	if err != nil {
		return err
	}

	if err := ifreq.SetInet4Addr(addr.To4()); err != nil {
		return err
	}

	if err := unix.IoctlIfreq(socket, request, ifreq); err != nil {
		return fmt.Errorf("give %s %v: %w", card, addr, err)
	}

	return nil
}

// defaultRoute adds a default route, with the old ioctl: struct rtentry.
func defaultRoute(router net.IP) error {
	var entry struct {
		_                  uint64
		dst, gateway, mask unix.RawSockaddrInet4
		flags              uint16
		_                  [3]uint16
		_                  [10]uint64
	}

	for _, addr := range []*unix.RawSockaddrInet4{&entry.dst, &entry.gateway, &entry.mask} {
		addr.Family = unix.AF_INET
	}

	entry.gateway.Addr = [4]byte(router.To4())
	entry.flags = unix.RTF_UP | unix.RTF_GATEWAY

	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)

	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCADDRT, uintptr(unsafe.Pointer(&entry))); errno != 0 {
		return fmt.Errorf("default route over %v: %w", router, errno)
	}

	return nil
}
