// SPDX-License-Identifier: Apache-2.0

// Package state is the state of a lab on disk: a directory with a description of its machines, networks and processes,
// and with the disks and consoles. It outlives the processes, so that a lab can be listed, explained, started again and
// destroyed after a crash or a reboot of this computer.
package state

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/world"
	"go.yaml.in/yaml/v4"
)

// Lab describes a lab.
type Lab struct {
	Dir string `yaml:"-"`

	Name    string    `yaml:"name"`
	Created time.Time `yaml:"created"`
	// Domain is the lab's own zone in DNS.
	Domain string `yaml:"domain"`
	// LeaseTime of DHCP.
	LeaseTime time.Duration `yaml:"leaseTime"`
	// Seed makes the loss of frames repeatable.
	Seed    uint64      `yaml:"seed"`
	World   world.World `yaml:"world"`
	Machine Machine     `yaml:"machine"`
	Nodes   []Node      `yaml:"nodes"`
	// KubernetesPort is the port of 127.0.0.1 that leads to the API server of any control plane, if there are several.
	KubernetesPort uint16 `yaml:"kubernetesPort,omitempty"`
	// Cgroups are folders of /sys/fs/cgroup that the lab created for its containers.
	Cgroups []string `yaml:"cgroups,omitempty"`
	// Supervisor runs the lab; nil while the lab is stopped.
	Supervisor *Process `yaml:"supervisor,omitempty"`
}

// Machine is what all machines of the lab have in common.
type Machine struct {
	// QEMU is the program of the virtual machines.
	QEMU     string         `yaml:"qemu,omitempty"`
	Firmware *qemu.Firmware `yaml:"firmware,omitempty"`
	// CD is set when BasePath is a CD beside empty disks, and not the content of the disks.
	CD bool `yaml:"cd,omitempty"`
	// Record is set when the writes to the first disk of each machine are recorded (DiskLogPath).
	Record bool `yaml:"record,omitempty"`
	// Kernel, if set, is started without a boot loader.
	Kernel  string `yaml:"kernel,omitempty"`
	Initrd  string `yaml:"initrd,omitempty"`
	Cmdline string `yaml:"cmdline,omitempty"`
	// Root is the root image of the containers, and RootDir where it is unpacked.
	Root    string `yaml:"root,omitempty"`
	RootDir string `yaml:"rootDir,omitempty"`
	// Cache is the folder of an OCI image layout for containers.
	Cache string `yaml:"cache,omitempty"`
}

// Role is the role of a node in its cluster.
type Role string

// The roles.
const (
	ControlPlane Role = "controlplane"
	Worker       Role = "worker"
)

// Provisioner is how a node's machine runs.
type Provisioner string

// The provisioners.
const (
	// QEMU runs virtual machines. It is the default.
	QEMU Provisioner = "qemu"
	// Container runs the root image in namespaces of this computer's kernel.
	Container Provisioner = "container"
)

// Node is one machine.
type Node struct {
	Name        string      `yaml:"name"`
	Role        Role        `yaml:"role"`
	Provisioner Provisioner `yaml:"provisioner,omitempty"`
	// Addr is the address of its first card.
	Addr netip.Addr `yaml:"address"`
	// Cards are its network cards.
	Cards     []world.Card `yaml:"cards"`
	UUID      string       `yaml:"uuid"`
	CPUs      int          `yaml:"cpus"`
	MemoryMiB int          `yaml:"memoryMiB"`
	DiskGiB   int          `yaml:"diskGiB"`
	// ExtraDisksGiB are the sizes of the disks besides the boot disk.
	ExtraDisksGiB []int `yaml:"extraDisksGiB,omitempty"`
	// APIPort and KubernetesPort are the ports of 127.0.0.1 that lead to its API and to Kubernetes. Zero lets the
	// supervisor choose.
	APIPort        uint16 `yaml:"apiPort"`
	KubernetesPort uint16 `yaml:"kubernetesPort"`
	// Off machines are not switched on with the lab.
	Off bool `yaml:"off,omitempty"`
	// Process is its QEMU, or the first process of its container, while the power is on.
	Process *Process `yaml:"process,omitempty"`
}

// Balanced reports whether the lab has several control planes, and so a load balancer for Kubernetes.
func (l *Lab) Balanced() bool {
	return len(l.Nodes) > 1 && l.Nodes[0].Role == ControlPlane && l.Nodes[1].Role == ControlPlane
}

// KubernetesAddr returns the address in the lab that leads to Kubernetes: that of the only control plane, or that of the load balancer, which is
// the gateway of the first control plane's network.
func (l *Lab) KubernetesAddr() netip.Addr {
	first := l.Nodes[0]
	if !l.Balanced() {
		return first.Addr
	}

	for _, n := range l.World.Networks {
		switch {
		case n.Name != first.Cards[0].Network:
		case first.Addr.Is4():
			return n.Gateway4
		default:
			return n.Gateway6
		}
	}

	return first.Addr
}

// The files of a lab.
const (
	stateFile   = "state.yaml"
	logFile     = "lab.log"
	socketFile  = "control.sock"
	baseFile    = "base.raw"
	nodesDir    = "nodes"
	talosconfig = "talosconfig"
	kubeconfig  = "kubeconfig"
	configsDir  = "configs"
	rootsDir    = "roots"
)

// LogPath returns the supervisor's log.
func (l *Lab) LogPath() string { return filepath.Join(l.Dir, logFile) }

// SocketPath returns the supervisor's socket.
func (l *Lab) SocketPath() string { return filepath.Join(l.Dir, socketFile) }

// BasePath returns the lab's copy of the disk image.
func (l *Lab) BasePath() string { return filepath.Join(l.Dir, baseFile) }

// DiskBase returns what the machines' own disks begin with, or "" if they begin empty.
func (l *Lab) DiskBase() string {
	if l.Machine.CD {
		return ""
	}

	return l.BasePath()
}

// TalosconfigPath returns the lab's client configuration.
func (l *Lab) TalosconfigPath() string { return filepath.Join(l.Dir, talosconfig) }

// KubeconfigPath returns the lab's Kubernetes client configuration.
func (l *Lab) KubeconfigPath() string { return filepath.Join(l.Dir, kubeconfig) }

// ConfigsPath returns the directory of the nodes' machine configurations.
func (l *Lab) ConfigsPath() string { return filepath.Join(l.Dir, configsDir) }

// NodesPath returns the directory with those of the nodes.
func (l *Lab) NodesPath() string { return filepath.Join(l.Dir, nodesDir) }

// NodeDir returns the directory of a node's console, firmware variables and disk.
func (l *Lab) NodeDir(name string) string { return filepath.Join(l.Dir, nodesDir, name) }

// RootsPath returns the directory of the unpacked root images.
func (l *Lab) RootsPath() string { return filepath.Join(l.Dir, rootsDir) }

// Uses reports whether any node has a provisioner.
func (l *Lab) Uses(p Provisioner) bool {
	return slices.ContainsFunc(l.Nodes, func(n Node) bool { return n.As() == p })
}

// As returns the node's provisioner.
func (n *Node) As() Provisioner { return cmp.Or(n.Provisioner, QEMU) }

// DiskPath returns a node's disk.
func (l *Lab) DiskPath(name string) string { return filepath.Join(l.NodeDir(name), "disk.qcow2") }

// DiskLogPath returns the file that records the writes to a node's disk.
func (l *Lab) DiskLogPath(name string) string { return filepath.Join(l.NodeDir(name), "disk.log") }

// ExtraDiskPath returns the disk of a node for ExtraDisksGiB[i].
func (l *Lab) ExtraDiskPath(name string, i int) string {
	return filepath.Join(l.NodeDir(name), fmt.Sprintf("extra-%d.qcow2", i+1))
}

// ConsolePath returns the console log of a node's latest boot.
func (l *Lab) ConsolePath(name string) string { return filepath.Join(l.NodeDir(name), "console.log") }

// UserDataPath returns the file with a node's user data, if it has any.
func (l *Lab) UserDataPath(name string) string { return filepath.Join(l.NodeDir(name), "user-data") }

// UserData returns a node's user data, or nil if it has none.
func (l *Lab) UserData(name string) ([]byte, error) {
	text, err := os.ReadFile(l.UserDataPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	return text, err
}

// ErrNone is the error of a directory without a lab.
var ErrNone = errors.New("there is no lab")

// Load reads the lab in a directory.
func Load(dir string) (*Lab, error) {
	path := filepath.Join(dir, stateFile)

	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: create it with talosctl cluster create, or use other --name and --state", ErrNone, dir)
	}

	if err != nil {
		return nil, fmt.Errorf("read the lab's state: %w", err)
	}

	lab := &Lab{Dir: dir}
	if err := lab.decode(text); err != nil {
		return nil, fmt.Errorf("read the lab's state: %s: %w", path, err)
	}

	return lab, nil
}

func (l *Lab) decode(text []byte) error {
	var form struct {
		Network *yaml.Node `yaml:"network"`
	}

	decode := func(into any, known bool) error {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		decoder.KnownFields(known)

		return decoder.Decode(into)
	}

	if err := decode(&form, false); err != nil {
		return err
	}

	if form.Network != nil {
		var o older
		if err := decode(&o, true); err != nil {
			return err
		}

		*l = *o.lab(l.Dir)
	} else if err := decode(l, true); err != nil {
		return err
	}

	if err := l.check(); err != nil {
		return fmt.Errorf("%w: the file is damaged; remove the directory", err)
	}

	return nil
}

// check returns an error for a damaged file.
func (l *Lab) check() error {
	if l.Name == "" || len(l.Nodes) == 0 || len(l.World.Networks) == 0 {
		return errors.New("name, nodes or network are missing")
	}

	for _, n := range l.World.Networks {
		if !n.Subnet4.IsValid() && !n.Subnet6.IsValid() {
			return fmt.Errorf("network %q has no subnet", n.Name)
		}
	}

	for _, n := range l.Nodes {
		if len(n.Cards) == 0 {
			return fmt.Errorf("node %s has no card", n.Name)
		}

		for _, c := range n.Cards {
			if err := l.checkNetwork("node "+n.Name, c.Network); err != nil {
				return err
			}

			if len(c.HardwareAddr()) != 6 {
				return fmt.Errorf("node %s has a card with the address %q", n.Name, c.MAC)
			}
		}
	}

	for _, r := range l.World.Routers {
		for _, leg := range r.Legs {
			if err := l.checkNetwork("router "+r.Name, leg.Network); err != nil {
				return err
			}
		}
	}

	return nil
}

func (l *Lab) checkNetwork(who, network string) error {
	if _, ok := l.World.Network(network); !ok {
		return fmt.Errorf("%s is on network %q, which does not exist", who, network)
	}

	return nil
}

// Machines returns the nodes in the form of package world.
func (l *Lab) Machines() []world.Machine {
	var all []world.Machine
	for _, n := range l.Nodes {
		all = append(all, world.Machine{Name: n.Name, Cards: n.Cards})
	}

	return all
}

// Create writes the state of a new lab, and fails if its directory has one.
func (l *Lab) Create() error {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return fmt.Errorf("create the lab's directory: %w", err)
	}

	file, err := os.OpenFile(filepath.Join(l.Dir, stateFile), os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("create the lab's state: %w", err)
	}

	return errors.Join(file.Close(), l.Save())
}

// Save writes the state atomically.
func (l *Lab) Save() error {
	text, err := yaml.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}

	if err := durable.Write(filepath.Join(l.Dir, stateFile), text, 0o644); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}

	return nil
}

// Remove removes the lab's files, and its directory if it is empty then.
func (l *Lab) Remove() error {
	path := filepath.Join(l.Dir, stateFile)

	all, err := durable.Leftovers(path)
	errs := []error{err}

	for _, name := range []string{nodesDir, rootsDir, configsDir, baseFile, socketFile, logFile, talosconfig, kubeconfig} {
		all = append(all, filepath.Join(l.Dir, name))
	}

	// The state is removed last: until then another try finds the other files.
	for _, path := range append(all, path) {
		errs = append(errs, os.RemoveAll(path))
	}

	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the lab: %w", err)
	}

	_ = os.Remove(l.Dir) // fails if other files are in it

	return nil
}

// Condition is the condition of a lab's processes.
type Condition string

// The conditions.
const (
	Running Condition = "running"
	Stopped Condition = "stopped"
	// Crashed labs have lost their supervisor, and so their machines.
	Crashed Condition = "crashed"
)

// Condition returns whether the lab runs, is stopped or has crashed.
func (l *Lab) Condition() Condition {
	switch {
	case l.Supervisor == nil:
		return Stopped
	case l.Supervisor.Alive():
		return Running
	}

	return Crashed
}

// Explain returns a text with the lab's condition and what to do.
func (l *Lab) Explain() string {
	switch l.Condition() {
	case Running:
		return fmt.Sprintf("lab %s is running", l.Name)
	case Stopped:
		return fmt.Sprintf("lab %s is stopped: talosctl cluster reboot starts it, talosctl cluster destroy removes it", l.Name)
	}

	why := "its supervisor (process " + fmt.Sprint(l.Supervisor.PID) + ") was killed or crashed, see " + l.LogPath()
	if l.Supervisor.Boot != bootID() {
		why = "this computer was rebooted since it was started"
	}

	return fmt.Sprintf("lab %s is not running: %s. Its disks are kept: talosctl cluster reboot starts it, talosctl cluster destroy removes it", l.Name, why)
}
