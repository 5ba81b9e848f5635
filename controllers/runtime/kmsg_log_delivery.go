// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/logsend"
	"github.com/seed-59268b81/talos/sys/kmsg"
)

// KernelLog calls fn for each record of the kernel's log until ctx ends: those that the kernel still has, and then each new one. fn may
// block; then the kernel overwrites the oldest records.
type KernelLog func(ctx context.Context, fn func(kmsg.Message) error) error

// KmsgLogDeliveryController sends the kernel's log to the servers of the KmsgLogConfig. It needs goroutines that last, one for each
// server: a server that does not answer must not delay the others.
func KmsgLogDeliveryController(read KernelLog, boot func() time.Time) controller.Controller {
	w := &workers{}

	return &controller.Reconciler{
		ControllerName: "runtime.KmsgLogDeliveryController",
		Reads:          []controller.Input{controller.In[runtime.KmsgLogConfigSpec](controller.Weak, "", runtime.KmsgLogConfigID)},
		Writes:         []controller.Output{controller.Out[runtime.SettingConditionSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[runtime.SettingConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var cfg runtime.KmsgLogConfigSpec
			if f := typed.Read(ctx, rt, runtime.KmsgLogConfigID, &cfg); f.Err != nil {
				return f.Err
			}

			wanted := map[string]job{}
			for _, u := range cfg.Destinations {
				id := "kernel-log/" + u.FullPath

				server, err := parseServer(u.FullPath)
				if err != nil { // of an argument of the kernel: a document is validated
					if err := typed.Set(ctx, rt, "", id, runtime.SettingConditionSpec{Cause: err.Error()}); err != nil {
						return err
					}

					continue
				}

				wanted[id] = job{begin: func() work { return sendKernelLog(server, read, boot) }}
			}

			return w.keep(ctx, rt, wanted)
		},
	}
}

func parseServer(text string) (logsend.Server, error) {
	u, err := url.Parse(text)
	if err != nil {
		return logsend.Server{}, err
	}

	return logsend.ParseServer(*u)
}

func sendKernelLog(server logsend.Server, read KernelLog, boot func() time.Time) work {
	return func(ctx context.Context, report func(error)) error {
		sender := logsend.NewSender(server, report)
		defer sender.Close()

		return read(ctx, func(m kmsg.Message) error {
			_ = sender.Send(ctx, logsend.OfKernel(m, boot())) // the error is that ctx has ended, and then read ends too

			return nil
		})
	}
}
