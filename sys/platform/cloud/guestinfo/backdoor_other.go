// SPDX-License-Identifier: Apache-2.0

//go:build linux && !amd64

package guestinfo

import "errors"

// processor reports whether the processor names VMware as the hypervisor. The backdoor of other architectures is not supported.
func processor() bool { return false }

func ask(string) ([]byte, error) {
	return nil, errors.New("not supported on this architecture")
}
