// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"fmt"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const tunPath = "/dev/net/tun"

// spareTaps is how often network cards can be plugged in while a machine runs: a descriptor can create only one device.
const spareTaps = 16

// openTaps opens /dev/net/tun in this network namespace.
func openTaps(count int) ([]int, error) {
	var fds []int

	for range count {
		fd, err := unix.Open(tunPath, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", tunPath, err)
		}

		fds = append(fds, fd)
	}

	return fds, nil
}

// makeTap creates a tap device from a descriptor of /dev/net/tun, in the network namespace in which it was opened. Each
// read and write is one frame. Without IFF_VNET_HDR the kernel computes checksums and segments packets.
func makeTap(fd int, name string, mac net.HardwareAddr) (*os.File, error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, fmt.Errorf("create card %s: %w", name, err)
	}

	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)

	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, fmt.Errorf("create card %s: %w", name, err)
	}

	// struct ifreq with a struct sockaddr, netdevice(7).
	var address struct {
		name   [unix.IFNAMSIZ]byte
		family uint16
		data   [22]byte
	}

	copy(address.name[:], name)
	copy(address.data[:], mac)
	address.family = unix.ARPHRD_ETHER

	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFHWADDR, uintptr(unsafe.Pointer(&address))); errno != 0 {
		return nil, fmt.Errorf("set the address of card %s: %w", name, errno)
	}

	return os.NewFile(uintptr(fd), name), nil
}
