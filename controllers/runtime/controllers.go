// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/service/logsend"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/kmsg"
	"github.com/seed-59268b81/talos/sys/logind"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/watchdog"
)

// Deps are what the controllers need from outside.
type Deps struct {
	// Platform is where the machine runs.
	Platform platform.Platform
	// Journal keeps the logs of the last boots. Settled is closed when all devices have their drivers.
	Journal *bootlog.Journal
	Settled <-chan struct{}
	// Bus is the message bus on which the kubelet waits for the shutdown of the machine.
	Bus *logind.Bus
	// Publish sends an event to the watchers, with the id of the actor of a request.
	Publish func(event proto.Message, actorID string)
	// Args are the arguments of the kernel.
	Args cmdline.Cmdline
	// Outlet has the logs of services, and History the events, for the servers that they are sent to.
	Outlet  *logsend.Outlet
	History EventHistory
	// Participants, Close, Wipe and Act are those of the PowerController.
	Participants func(ctx context.Context) ([]Participant, <-chan struct{}, error)
	Close        func()
	Wipe         func() error
	Act          func(runtime.PowerAction) error
}

// Controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	all := []controller.Controller{
		IdentityController(os.DirFS("/")),
		PlatformController(deps.Platform),
		MachineStatusController(func(event proto.Message) { deps.Publish(event, "") }),
		&PowerController{Participants: deps.Participants, Close: deps.Close, Wipe: deps.Wipe, Act: deps.Act, Publish: deps.Publish},
		&LogindController{Bus: deps.Bus},
		EnvironmentController(),
		ProcessEnvironmentController(os.LookupEnv, os.Setenv, os.Unsetenv),
		BootLogController(deps.Journal, deps.Platform, "/", deps.Settled),
		ServiceLogDeliveryController(deps.Outlet),
		EventSinkConfigController(deps.Args),
		EventSinkController(deps.History),
		KmsgLogConfigController(deps.Args),
		WatchdogConfigController(),
	}

	if deps.Platform.Owns(platform.KernelLog) {
		all = append(all, KmsgLogDeliveryController(readKernelLog, kmsg.BootTime))
	}

	// Otherwise other machines use the memory too.
	if deps.Platform.Owns(platform.KernelParameters) && deps.Platform.Owns(platform.CgroupReservations) {
		all = append(all, OOMController(realMemory{}))
	}

	if deps.Platform.Owns(platform.CrashEvidence) {
		all = append(all, WatchdogController(watchdog.Open))
	}

	return all
}

func readKernelLog(ctx context.Context, fn func(kmsg.Message) error) error {
	return kmsg.Read(ctx, true, fn)
}
