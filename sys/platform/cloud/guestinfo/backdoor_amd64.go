// SPDX-License-Identifier: Apache-2.0

//go:build linux

package guestinfo

import (
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/vmware/vmw-guestinfo/message"
	"github.com/vmware/vmw-guestinfo/vmcheck"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// processor reports whether the processor names VMware as the hypervisor.
func processor() bool { return vmcheck.IsVirtualCPU() }

// ask sends a command to the hypervisor and returns its answer. Call it only on a virtual machine of VMware.
func ask(command string) (answer []byte, err error) {
	// A goroutine that ends with its thread locked ends the thread too, and with it the permission for I/O ports that vmcheck requests: the
	// backdoor may be restricted to programs that have it.
	err = <-guard.Go(func() error {
		runtime.LockOSThread()

		return faults(func() error {
			found, err := vmcheck.IsVirtualWorld(true)
			if err != nil {
				return err
			}

			if !found {
				return errors.New("the hypervisor has no backdoor")
			}

			answer, err = exchange([]byte(command))

			return err
		})
	})

	return answer, err
}

// commands is the protocol of a channel for commands, "RPCI".
const commands = 0x49435052

// exchange sends a command on a channel of its own. Package rpcout, which also does that, panics if an answer has fewer than two bytes, and
// keeps the channel open after an error.
func exchange(command []byte) (answer []byte, err error) {
	channel, err := message.NewChannel(commands)
	if err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, channel.Close()) }()

	if err := channel.Send(command); err != nil {
		return nil, err
	}

	return channel.Receive()
}

// faults calls f, and returns a fault of the processor as an error.
func faults(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a fault of the processor; its address has no meaning
			err = errors.New("the hypervisor refuses its backdoor: check the setting monitor_control.restrict_backdoor of the virtual machine")
		default:
			panic(p)
		}
	}()

	return f()
}
