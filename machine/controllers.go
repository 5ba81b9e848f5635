// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"os"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/contract"
	machineapi "github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/apid"
	blockctl "github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/controllers/cluster"
	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/config"
	"github.com/seed-59268b81/talos/controllers/cri"
	"github.com/seed-59268b81/talos/controllers/discovery"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/files"
	"github.com/seed-59268b81/talos/controllers/hardware"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/kernel"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/controllers/network"
	"github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/controllers/security"
	servicectl "github.com/seed-59268b81/talos/controllers/service"
	timectl "github.com/seed-59268b81/talos/controllers/time"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/machine/events"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/kmsg"
	"github.com/seed-59268b81/talos/sys/logind"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/power"
)

// executable is the one program of the system.
const executable = "/sbin/init"

// controllers returns all controllers of a machine, in no particular order. settled is closed when all devices have drivers.
func (m *Machine) controllers(modules *module.Loader, settled <-chan struct{}) ([]controller.Controller, error) {
	links, _, err := network.Open(m.Platform) // for as long as the machine runs
	if err != nil {
		return nil, err
	}

	documents := fetch(modules, settled, m.Platform.Hardware)
	links.Metadata = metadataOf(m.Platform, documents)
	links.Publish = func(event proto.Message) { m.Events.Publish(event, "") }

	bus, err := logind.Listen(logind.Socket, m.Log)
	if err != nil {
		return nil, err
	}

	values := metactl.New(m.Platform)
	m.server.Meta = values

	m.server.Config = config.New(os.DirFS("/"), m.args, m.Platform, documents, values, func(err error) {
		m.Events.Publish(&machineapi.ConfigLoadErrorEvent{Error: err.Error()}, "")
	})

	var started string

	m.server.Config.LastEnd = m.lastEnd
	m.server.Config.Reboot = func(ctx context.Context, why string) { request(ctx, m.State, m.Log, runtimeres.PowerReboot, why) }

	if m.Platform.Owns(platform.Disks) {
		entries, err := bootLoader(m.State, efivar.Mounted, "/proc/cmdline")
		if err != nil {
			return nil, err
		}

		if started, err = loader.BootPartition(efivar.Mounted); err != nil {
			m.Log.Warn("the disk that the machine was started from is not known", "error", err)
		}

		m.server.Config.BootedAt(kmsg.BootTime())
		m.server.Config.Entries, m.server.Loader, m.server.Trials = entries, entries, m.server.Config

		installer, err := m.installer()
		if err != nil {
			return nil, err
		}

		m.server.Config.Installer, m.server.Installer, m.server.Fetch = installer, installer, installer.Fetch
	}

	if err := config.Hide("/"); err != nil {
		m.Log.Warn("programs can read the configuration in the image", "error", err)
	}

	return slices.Concat(
		metactl.Controllers(values),
		config.Controllers(m.server.Config),
		servicectl.Controllers(m.Supervisor),
		runtime.Controllers(runtime.Deps{
			Platform: m.Platform, Journal: m.Journal, Settled: settled, Bus: bus, Publish: m.Events.Publish,
			Args: m.args, Outlet: m.Outlet, History: m.history,
			Participants: m.participants(bus), Close: m.Supervisor.Close, Wipe: func() error { return m.wipe(values) }, Act: m.end,
			Watchdog: m.defaultWatchdog, Works: (&pulse{life: context.Background(), state: m.State, answer: func() { m.Supervisor.List() }}).works,
		}),
		apid.Controllers(m.Supervisor, apid.Process{Executable: executable, UID: layout.UserTrustd, Sockets: []string{contract.TrustdSocket}}),
		discovery.Controllers(m.Supervisor, apid.Process{Executable: executable, UID: layout.UserDiscoveryd, Sockets: []string{contract.DiscoverydSocket}}),
		files.Controllers(),
		hardware.Controllers(m.Platform, m.Supervisor, settled),
		cri.Controllers(cri.Deps{Supervisor: m.Supervisor, Platform: m.Platform, LoadModule: modules.Load}),
		kernel.Controllers(kernel.Deps{Platform: m.Platform, Loader: modules, Settled: settled}),
		network.Controllers(links),
		timectl.Controllers(m.Platform),
		cluster.Controllers(cluster.System),
		clusterstate.Controllers(clusterstate.Deps{Shared: m.shared}),
		secrets.Controllers(),
		security.Controllers(),
		etcd.Controllers(etcd.Deps{Supervisor: m.Supervisor, Fetch: m.server.Config.Fetch(container.Fetch), State: m.State}),
		k8s.Controllers(k8s.Deps{Supervisor: m.Supervisor, Platform: m.Platform, Fetch: m.server.Config.Fetch(container.Fetch)}),
		blockctl.Controllers(m.Platform, started, m.afterReset),
	), nil
}

// end powers the machine off or reboots it; in a container it ends all processes.
func (m *Machine) end(action runtimeres.PowerAction) error {
	if m.Platform.Owns(platform.Disks) {
		if err := power.Flush(); err != nil {
			m.Log.Error("the last writes may be lost", "error", err)
		}
	}

	if action == runtimeres.PowerShutdown {
		return power.Off()
	}

	return power.Reboot()
}

// history passes the events that are kept, and then each new one, as clients get them. One that cannot be encoded is left out: it never
// can.
func (m *Machine) history(ctx context.Context, after string, fn func(*machineapi.Event) error) error {
	return m.Events.Watch(ctx, events.Start{After: after, Tail: -1}, func(e events.Event) error {
		wire, err := e.Wire()
		if err != nil {
			m.Log.Warn("an event is not sent to the event sink", "error", err)

			return nil
		}

		return fn(wire)
	})
}
