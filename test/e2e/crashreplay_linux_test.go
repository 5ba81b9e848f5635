// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/lab"
	labmachine "github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/test/replay"
)

// triedSetting is in the configuration that is tried, and not in the first one.
const triedSetting = "net.ipv4.ip_default_ttl"

// crashed is a machine whose disk is recorded, in phases.
type crashed struct {
	t      *testing.T
	c      *cluster.Cluster
	phases []crashedPhase
}

// crashedPhase is what was done between two numbers of entries of the log. may are the values of the setting that the stored configuration may
// have; "none" is no configuration.
type crashedPhase struct {
	name     string
	from, to int
	may      []string
	wipes    bool
}

func (m *crashed) open() *replay.Recording {
	m.t.Helper()

	lab := m.c.Lab.State()

	f, err := os.Open(lab.DiskLogPath(m.c.Node.Name))
	if err != nil {
		m.t.Fatal(err)
	}

	m.t.Cleanup(func() { f.Close() })

	r, err := replay.Open(f)
	if err != nil {
		m.t.Fatal(err)
	}

	base, err := os.Open(lab.BasePath())
	if err != nil {
		m.t.Fatal(err)
	}

	m.t.Cleanup(func() { base.Close() })

	r.Before, r.Size = padded{base}, int64(lab.Nodes[0].DiskGiB)<<30

	return r
}

// padded is a file that is followed by zeros.
type padded struct{ io.ReaderAt }

func (p padded) ReadAt(b []byte, offset int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, offset)
	if errors.Is(err, io.EOF) {
		clear(b[n:])

		return len(b), nil
	}

	return n, err
}

// phase does something. What is acknowledged when do returns is on the disk.
func (m *crashed) phase(name string, wipes bool, may []string, do func()) {
	m.t.Helper()

	from := len(m.open().Log.Entries)
	do()

	p := crashedPhase{name, from, len(m.open().Log.Entries), may, wipes}
	m.phases = append(m.phases, p)
	m.t.Logf("%s: entries %d to %d", name, p.from, p.to)
}

// TestCrashReplay records each write and flush of a machine's disk while the machine gets its first configuration, tries another one that is
// confirmed, and is reset. Then it looks at what a power cut would have left: at each flush, and with any of the writes since.
func TestCrashReplay(t *testing.T) {
	cluster.Above(t, cluster.All, "starts one more virtual machine, and looks at thousands of states of its disk")

	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts file systems of the states")
	}

	c := cluster.StartIn(t, lab.Options{Provisioner: state.QEMU, Image: lab.Image{Record: true}})
	m := &crashed{t: t, c: c}

	c.Maintenance()

	stored := func(want string) {
		c.Until("the stored configuration has "+want, 5*time.Minute, func(ctx context.Context) error {
			out, err := c.TalosctlCommand(ctx, "get", "machineconfig", "persistent", "-o", "yaml").CombinedOutput()
			if err == nil && !strings.Contains(string(out), want) {
				err = errors.New("it has not")
			}

			return err
		})
	}

	m.phase("the first configuration", false, []string{"none", ""}, func() {
		takesConfiguration(t, c)
		stored("machine:")
	})
	m.phase("try", false, []string{""}, func() {
		c.Talosctl("patch", "machineconfig", "--mode", "try", "--timeout", "10m", "--patch", `{"machine": {"sysctls": {"`+triedSetting+`": "24"}}}`)
	})
	m.phase("confirm", false, []string{"", "24"}, func() { c.Talosctl("confirm") })
	m.phase("after it", false, []string{"24"}, func() { stored(triedSetting) })
	m.phase("reset", true, []string{"24"}, func() {
		c.Talosctl("reset", "--graceful=false", "--wait=false", "--system-labels-to-wipe", "STATE", "--system-labels-to-wipe", "EPHEMERAL")
		c.Until("the machine is off", 5*time.Minute, func(ctx context.Context) error {
			status, err := c.Lab.Status(ctx)
			if err == nil && status.Nodes[0].Machine.Power != labmachine.Off {
				err = errors.New("it is on")
			}

			return err
		})
	})

	m.replay()
}

// replay looks at the states.
func (m *crashed) replay() {
	m.t.Helper()

	recording := m.open()
	m.t.Logf("%d writes, flushes and discards, %d flushes, %d MiB", len(recording.Log.Entries), recording.Log.Flushes(), recording.Log.Written()>>20)

	sums, mounter := replay.Sums{}, replay.NewMounter(m.t)

	var before *replay.Found

	texts := map[string]string{}

	for _, p := range m.phases {
		states, found := 0, map[string]int{}

		for s := range recording.States(rand.New(rand.NewPCG(14, 3)), p.from, p.to, 1) {
			look, err := s.Look(sums)
			if err == nil && before == nil {
				before = look
			}

			if err == nil && (look.Meta == nil || !maps.Equal(look.Files, before.Files)) {
				err = errors.New("META is not there, or the boot entry is not whole")
			}

			what := ""
			if err == nil {
				what, err = m.verdict(s, look, p, mounter, texts)
			}

			if err != nil {
				m.t.Fatalf("%s: %s: %v", p.name, s, err)
			}

			states++
			found[what]++
		}

		m.t.Logf("%s: %d states: %v", p.name, states, found)
	}

	m.t.Logf("%d different file systems were mounted", mounter.Mounted())
}

// verdict returns what the next boot has. texts has the configurations that were found, by the value of the setting.
func (m *crashed) verdict(s *replay.State, look *replay.Found, p crashedPhase, mounter *replay.Mounter, texts map[string]string) (string, error) {
	record, err1 := trial.Decode(look.Meta[meta.Trial])

	_, resets, err2 := reset.Decode(look.Meta[meta.Reset])
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}

	if resets {
		if !p.wipes {
			return "", errors.New("META has a reset that no one has requested")
		}

		return "the reset goes on", nil
	}

	value, text := "none", ""

	if part, there := s.Partition(look.Table, layout.PartitionState); there {
		info, err := blkid.Probe(part, uint64(part.Size()), 512)
		if err != nil {
			return "", err
		}

		if info.Name == blkid.XFS {
			files, err := mounter.Files(part)
			if err != nil {
				return "", fmt.Errorf("STATE: %w", err)
			}

			text = files["config.yaml"]
		}
	}

	if text != "" {
		if _, err := config.Decode([]byte(text)); err != nil {
			return "", fmt.Errorf("config.yaml: %w", err)
		}

		value = ""
		if strings.Contains(text, triedSetting) {
			value = "24"
		}

		if known, there := texts[value]; there && known != text {
			return "", errors.New("config.yaml is neither the old one nor the new one")
		}

		texts[value] = text
	}

	switch {
	case value == "none" && p.wipes:
		return "wiped", nil
	case !slices.Contains(p.may, value):
		return "", fmt.Errorf("the stored configuration has %q, want one of %q", value, p.may)
	}

	// The digest of the stored configuration decides about a trial that a cut has interrupted.
	if decided, _ := trial.Judge(record, trial.Boot{Boot: "next", Config: config.Digest([]byte(text))}); record.ID != "" {
		return fmt.Sprintf("%q, and the trial was %s and is %s", value, record.State, decided.State), nil
	}

	return fmt.Sprintf("%q", value), nil
}
