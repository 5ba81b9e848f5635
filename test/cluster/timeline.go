// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Moment is when something happened, counted from power-on.
type Moment struct {
	Name string
	At   time.Duration
}

// milestones are those of a boot, each with what the console shows when it is reached.
var milestones = []struct {
	name string
	sign *regexp.Regexp
}{
	{"the firmware starts the boot loader", regexp.MustCompile(`BdsDxe: starting`)},
	{"the boot loader has loaded the kernel and the initramfs", regexp.MustCompile(`EFI stub: Loaded initrd`)},
	{"the kernel starts", regexp.MustCompile(`Linux version`)},
	{"the initramfs is unpacked", regexp.MustCompile(`Freeing initrd memory`)},
	{"init starts", regexp.MustCompile(`Run /init as init process`)},
	{"init switches into the root image", regexp.MustCompile(`\[talos\] switching to the root image`)},
	{"machined starts", regexp.MustCompile(`\[talos\] starting version=`)},
	{"the network has an address", regexp.MustCompile(`\[talos\] DHCP lease`)},
	{"STATE is mounted", regexp.MustCompile(`\[talos\] volume mounted .*volume=STATE `)},
	{"apid runs", regexp.MustCompile(`\[talos\] service id=apid state=Running`)},
	{"the clock is set", regexp.MustCompile(`\[talos\] setting the clock`)},
	{"EPHEMERAL is mounted", regexp.MustCompile(`\[talos\] volume mounted .*volume=EPHEMERAL `)},
	{"containerd runs", regexp.MustCompile(`\[talos\] service id=cri state=Running`)},
	{"etcd runs", regexp.MustCompile(`\[talos\] service id=etcd state=Running`)},
	{"the kubelet runs", regexp.MustCompile(`\[talos\] service id=kubelet state=Running`)},
}

// stamp is the prefix of each line of a console: seconds since power-on.
var stamp = regexp.MustCompile(`^\+\s*(\d+\.\d+) `)

// Timeline returns the milestones that a console shows, in the order of the list.
func Timeline(console io.Reader) ([]Moment, error) {
	at := make([]time.Duration, len(milestones))

	lines := bufio.NewScanner(console)
	lines.Buffer(nil, 1<<20)

	for lines.Scan() {
		m := stamp.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}

		for i, milestone := range milestones {
			if at[i] != 0 || !milestone.sign.MatchString(lines.Text()) {
				continue
			}

			seconds, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return nil, fmt.Errorf("time of the console line %q: %w", lines.Text(), err)
			}

			at[i] = time.Duration(seconds * float64(time.Second))
		}
	}

	var found []Moment

	for i, milestone := range milestones {
		if at[i] != 0 {
			found = append(found, Moment{Name: milestone.name, At: at[i]})
		}
	}

	return found, lines.Err()
}

// Timeline returns that of the latest boot.
func (c *Cluster) Timeline() []Moment {
	c.t.Helper()

	found, err := Timeline(strings.NewReader(c.Console()))
	if err != nil {
		c.t.Fatal(err)
	}

	return found
}

// SincePowerOn returns the time since the latest boot, which a power-on, a reset or the guest began.
func (c *Cluster) SincePowerOn() time.Duration {
	c.t.Helper()

	status, err := c.Node.Status(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}

	return time.Since(status.Machine.Since)
}
