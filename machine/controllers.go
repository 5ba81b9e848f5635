// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/contract"
	machineapi "github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/controllers/apid"
	blockctl "github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/controllers/cluster"
	"github.com/seed-59268b81/talos/controllers/config"
	"github.com/seed-59268b81/talos/controllers/cri"
	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/files"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/kernel"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/controllers/network"
	"github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/controllers/secrets"
	servicectl "github.com/seed-59268b81/talos/controllers/service"
	timectl "github.com/seed-59268b81/talos/controllers/time"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/layout"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/sys/logind"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/power"
)

// executable is the one program of the system.
const executable = "/sbin/init"

// controllers are all that run on a machine. Their order says nothing. settled is closed when all devices have their
// drivers.
func (m *Machine) controllers(modules *module.Loader, settled <-chan struct{}) ([]controller.Controller, error) {
	registry := &cri.RegistryPort{Address: imagecache.Address}

	links, _, err := network.Open(m.Platform) // for as long as the machine runs
	if err != nil {
		return nil, err
	}

	bus, err := logind.Listen(logind.Socket, m.Log)
	if err != nil {
		return nil, err
	}

	publish := func(msg proto.Message) { m.Events.Publish(msg, "") }
	values := metactl.New(m.Platform)
	m.server.Meta = values

	m.server.Config = config.New(os.DirFS("/"), m.args, m.Platform, values, func(err error) {
		publish(&machineapi.ConfigLoadErrorEvent{Error: err.Error()})
	})

	all := []controller.Controller{
		values.Controller(),
		m.server.Config,
		config.MachineTypeController(),
		&servicectl.ServiceController{Supervisor: m.Supervisor},
		runtime.IdentityController(os.DirFS("/")),
		runtime.PlatformController(m.Platform),
		runtime.MachineStatusController(publish),
		&runtime.PowerController{Participants: m.participants(bus), Close: m.Supervisor.Close, Act: m.end, Publish: m.Events.Publish},
		&runtime.LogindController{Bus: bus},
		runtime.BootLogController(m.Journal, m.Platform, "/", settled),
		apid.ConfigController(),
		apid.TrustdController(m.Supervisor, apid.Process{
			Executable: executable, UID: layout.UserTrustd, Sockets: []string{contract.TrustdSocket},
		}),
		files.EtcFileController("/etc", layout.EtcDir, func(source, target string) error {
			return mount.Bind(source, target, mount.NoSuid|mount.NoDev|mount.NoExec)
		}),
		cri.ContainerdController(m.Supervisor, m.Platform, registry, modules.Load),
		cri.ImageCacheController(m.Supervisor, registry),
	}

	all = append(all, kernel.Controllers(m.Platform, modules, settled)...)
	all = append(all, network.Controllers(links)...)
	all = append(all, timectl.Controllers(m.Platform)...)
	all = append(all, cluster.Controllers()...)
	all = append(all, secrets.Controllers()...)
	all = append(all, etcd.Controllers(etcd.Deps{Supervisor: m.Supervisor, Fetch: container.Fetch})...)
	all = append(all, k8s.Controllers(k8s.Deps{Supervisor: m.Supervisor, Platform: m.Platform, Fetch: container.Fetch})...)
	all = append(all, blockctl.Controllers(m.Platform)...)

	return all, nil
}

// end ends the machine: the kernel, or in a container all its processes.
func (m *Machine) end(action runtimeres.PowerAction) error {
	if m.Platform.Owns(platform.Disks) {
		if err := power.Flush(); err != nil {
			m.Log.Error("what was written last may be lost", "error", err)
		}
	}

	if action == runtimeres.PowerShutdown {
		return power.Off()
	}

	return power.Reboot()
}
