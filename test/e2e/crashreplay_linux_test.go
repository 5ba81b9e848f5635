// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/test/replay"
)

// triedSetting is in the configuration that is tried, and not in the first one.
const triedSetting = "net.ipv4.ip_default_ttl"

// cutTimes is how often each sort of state is made between two flushes.
const cutTimes = 10

// none is the value of the setting without a stored configuration.
const none = "none"

// crashed is a machine whose disk is recorded, in phases.
type crashed struct {
	t      *testing.T
	c      *cluster.Cluster
	phases []*crashedPhase
}

// crashedPhase is what was done between two numbers of entries of the log. may are the values of the setting that the stored configuration may
// have; "none" is no configuration. Without upgrades the disk has no boot entry but the first one.
type crashedPhase struct {
	name     string
	from, to int
	may      []string
	wipes    bool
	// upgrades is set when the disk may have the boot entry of the next version.
	upgrades bool
	// found has what the next boot has, for each state.
	found []afterCut
}

// states returns the states of a phase, which are always the same ones.
func (p *crashedPhase) states(r *replay.Recording) iter.Seq[*replay.State] {
	return r.States(rand.New(rand.NewPCG(14, 3)), p.from, p.to, cutTimes)
}

// afterCut is what the next boot has: a reset that goes on, or a stored configuration with a value of the setting. Was is the state in which a
// trial was, if there was one, and ends is the one in which it ends.
type afterCut struct {
	resets    bool
	value     string
	was, ends trial.State
}

func (a afterCut) String() string {
	switch {
	case a.resets:
		return "the reset goes on"
	case a.value == none:
		return "no configuration"
	case a.was == "":
		return fmt.Sprintf("%q", a.value)
	default:
		return fmt.Sprintf("%q, %s trial is %s", a.value, a.was, a.ends)
	}
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

// entries returns the number of entries until the last flush. QEMU writes the start of the record at the first one.
func (m *crashed) entries() int {
	m.t.Helper()

	if info, err := os.Stat(m.c.Lab.State().DiskLogPath(m.c.Node.Name)); err == nil && info.Size() == 0 {
		return 0
	}

	return len(m.open().Log.Entries)
}

// phase does something. What is acknowledged when do returns is on the disk.
func (m *crashed) phase(name string, wipes bool, may []string, do func()) *crashedPhase {
	m.t.Helper()

	from := m.entries()
	do()

	p := &crashedPhase{name: name, from: from, to: m.entries(), may: may, wipes: wipes}
	m.phases = append(m.phases, p)
	m.t.Logf("%s: entries %d to %d", name, p.from, p.to)

	return p
}

// TestCrashReplay records each write and flush of a machine's disk while the machine gets its first configuration, a version that it does not try
// after all, tries another configuration that is confirmed, and is reset. Then it looks at what a power cut would have left: at each flush, and with any of the writes since. It boots a dozen of
// these states.
func TestCrashReplay(t *testing.T) {
	cluster.Above(t, cluster.All, "starts one more virtual machine, and looks at thousands of states of its disk")

	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts file systems of the states")
	}

	c := cluster.StartIn(t, lab.Options{Provisioner: state.QEMU, Image: lab.Image{Record: true}})
	m := &crashed{t: t, c: c}

	c.Maintenance()

	stored := func(want string) {
		m.shows(t, func(text string) bool { return strings.Contains(text, want) }, "get", "machineconfig", "persistent", "-o", "yaml")
	}

	m.phase("the first configuration", false, []string{none, ""}, func() {
		takesConfiguration(t, c)
		c.WriteConfigurations()
		stored("machine:")
	})
	m.upgrades(t)
	m.phase("try", false, []string{""}, func() {
		c.Talosctl("patch", "machineconfig", "--mode", "try", "--timeout", "10m", "--patch", `{"machine": {"sysctls": {"`+triedSetting+`": "24"}}}`)
	})
	m.phase("confirm", false, []string{"", "24"}, func() { c.Talosctl("confirm") })
	m.phase("after it", false, []string{"24"}, func() { stored(triedSetting) })
	m.phase("reset", true, []string{"24"}, func() {
		c.Talosctl("reset", "--graceful=false", "--wait=false", "--system-labels-to-wipe", "STATE", "--system-labels-to-wipe", "EPHEMERAL")
		m.off(t)
	})

	recording := m.open()

	m.replay(recording)
	m.boots(recording)
}

// replay looks at the states.
func (m *crashed) replay(recording *replay.Recording) {
	m.t.Helper()
	m.t.Logf("%d writes, flushes and discards, %d flushes, %d MiB", len(recording.Log.Entries), recording.Log.Flushes(), recording.Log.Written()>>20)

	l := &looking{sums: replay.Sums{}, mounter: replay.NewMounter(m.t), texts: map[string]string{}, next: m.next()}

	for _, p := range m.phases {
		begin, found := time.Now(), map[string]int{}

		for s := range p.states(recording) {
			after, err := l.look(s, p)
			if err != nil {
				m.t.Fatalf("%s: %s: %v", p.name, s, err)
			}

			p.found = append(p.found, after)
			found[after.String()]++
		}

		m.t.Logf("%s: %d states in %s: %v", p.name, len(p.found), time.Since(begin).Round(time.Millisecond), found)
	}

	m.t.Logf("%d different file systems were mounted", l.mounter.Mounted())
}

// looking is what is known of the states before.
type looking struct {
	sums    replay.Sums
	mounter *replay.Mounter
	// entry has the files of the boot entry, which nothing changes, and next is the digest of the file of the next one.
	entry map[string]string
	next  string
	// texts has the configurations that were found, by the value of the setting.
	texts map[string]string
}

// look returns what the next boot has.
func (l *looking) look(s *replay.State, p *crashedPhase) (afterCut, error) {
	look, err := s.Look(l.sums)
	if err != nil {
		return afterCut{}, err
	}

	if l.entry == nil {
		l.entry = look.Files
	}

	added := maps.Clone(look.Files)
	maps.DeleteFunc(added, func(name, sum string) bool { return l.entry[name] == sum })

	if look.Meta == nil || len(look.Files)-len(added) != len(l.entry) {
		return afterCut{}, errors.New("META is not there, or the boot entry is not whole")
	}

	record, err1 := trial.Decode(look.Meta[meta.Trial])

	_, resets, err2 := reset.Decode(look.Meta[meta.Reset])
	if err := errors.Join(err1, err2); err != nil {
		return afterCut{}, err
	}

	if err := l.second(record, added, p.upgrades); err != nil {
		return afterCut{}, err
	}

	if resets {
		if !p.wipes {
			return afterCut{}, errors.New("META has a reset that no one has requested")
		}

		return afterCut{resets: true}, nil
	}

	value, text, err := l.stored(s, look)

	switch {
	case err != nil:
		return afterCut{}, err
	case value == none && p.wipes:
		return afterCut{value: value}, nil
	case !slices.Contains(p.may, value):
		return afterCut{}, fmt.Errorf("the stored configuration has %q, want one of %q", value, p.may)
	case record.ID == "":
		return afterCut{value: value}, nil
	}

	ends, err := verdict(record, value, text)

	return afterCut{value: value, was: record.State, ends: ends}, err
}

// verdict returns how a trial ends that a cut has interrupted. The digest of the stored configuration decides. That of a boot entry is reverted.
func verdict(record trial.Record, value, text string) (trial.State, error) {
	if from := record.Entry.From; record.Entry.To != "" {
		decided, _ := trial.Judge(record, trial.Boot{Boot: "next", Entry: from, Default: from})
		if decided.State != trial.Reverted {
			return "", fmt.Errorf("the trial of boot entry %s ends as %s", record.Entry.To, decided.State)
		}

		return decided.State, nil
	}

	decided, actions := trial.Judge(record, trial.Boot{Boot: "next", Config: config.Digest([]byte(text))})
	if decided.State == trial.Running && len(actions) > 0 { // the commit goes on
		decided.State = trial.Committed
	}

	if want := map[string]trial.State{"": trial.Reverted, "24": trial.Committed}[value]; decided.State != want {
		return "", fmt.Errorf("the stored configuration has %q, and the trial ends as %s, want %s", value, decided.State, want)
	}

	return decided.State, nil
}

// stored returns the stored configuration and its value of the setting.
func (l *looking) stored(s *replay.State, look *replay.Found) (value, text string, err error) {
	part, there := s.Partition(look.Table, layout.PartitionState)
	if !there {
		return none, "", nil
	}

	info, err := blkid.Probe(part, uint64(part.Size()), 512)
	if err != nil {
		return "", "", err
	}

	if info.Name == blkid.XFS {
		files, err := l.mounter.Files(part)
		if err != nil {
			return "", "", fmt.Errorf("STATE: %w", err)
		}

		text = files["config.yaml"]
	}

	if text == "" {
		return none, "", nil
	}

	if _, err := config.Decode([]byte(text)); err != nil {
		return "", "", fmt.Errorf("config.yaml: %w", err)
	}

	if strings.Contains(text, triedSetting) {
		value = "24"
	}

	if known, there := l.texts[value]; there && known != text {
		return "", "", errors.New("config.yaml is neither the old one nor the new one")
	}

	l.texts[value] = text

	return value, text, nil
}

// off waits until the machine is off.
func (m *crashed) off(t *testing.T) {
	t.Helper()
	m.c.Until("the machine is off", 5*time.Minute, func(context.Context) error {
		if s := machineStatus(t, m.c); s.Power != machine.Off {
			return fmt.Errorf("it is %s", s.Power)
		}

		return nil
	})
}

// shows waits until the output of talosctl is as it should be.
func (m *crashed) shows(t *testing.T, is func(text string) bool, args ...string) {
	t.Helper()
	m.c.Until("talosctl "+strings.Join(args, " ")+" shows what the disk has", 3*time.Minute, func(ctx context.Context) error {
		out, err := m.c.TalosctlCommand(ctx, args...).CombinedOutput()
		if err == nil && !is(string(out)) {
			err = errors.New("it does not")
		}

		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		return nil
	})
}
