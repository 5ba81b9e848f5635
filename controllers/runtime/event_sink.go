// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seed-59268b81/talos/api/events"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// EventHistory calls fn for each event of the machine after the one with an id until ctx ends: those that are kept, and then each new
// one. Without an id it begins with the oldest. When fn is so slow that events were overwritten it returns an error, and can be called
// again.
type EventHistory func(ctx context.Context, after string, fn func(*machine.Event) error) error

// EventSinkController sends the events of the machine to the server of the EventSinkConfig. It needs a goroutine that lasts.
func EventSinkController(history EventHistory) controller.Controller {
	w := &workers{}

	return &controller.Reconciler{
		ControllerName: "v1alpha1.EventsSinkController",
		Reads:          []controller.Input{controller.In[runtime.EventSinkConfigSpec](controller.Weak, "", runtime.EventSinkConfigID)},
		Writes:         []controller.Output{controller.Out[runtime.SettingConditionSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[runtime.SettingConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var cfg runtime.EventSinkConfigSpec

			f := typed.Read(ctx, rt, runtime.EventSinkConfigID, &cfg)
			if f.Err != nil {
				return f.Err
			}

			wanted := map[string]job{}
			if f.OK {
				wanted[runtime.EventSinkConfigID] = job{version: cfg.Endpoint, begin: func() work { return sendEvents(cfg.Endpoint, history) }}
			}

			return w.keep(ctx, rt, wanted)
		},
	}
}

// Times of the delivery of an event.
const (
	publishTime       = 10 * time.Second
	firstPublishPause = time.Second
	lastPublishPause  = 30 * time.Second
)

func sendEvents(endpoint string, history EventHistory) work {
	return func(ctx context.Context, report func(error)) error {
		conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
		if err != nil {
			return err
		}
		defer conn.Close()

		sink := events.NewEventSinkServiceClient(conn)
		last := ""

		for ctx.Err() == nil {
			err := history(ctx, last, func(e *machine.Event) error {
				if err := publish(ctx, sink, e, report); err != nil {
					return err
				}

				last = e.GetId()

				return nil
			})
			if ctx.Err() != nil {
				return nil
			}

			report(err)

			select { // then it goes on with the oldest event that is kept
			case <-ctx.Done():
			case <-time.After(firstPublishPause):
			}
		}

		return nil
	}
}

// publish sends an event until the server has taken it.
func publish(ctx context.Context, sink events.EventSinkServiceClient, e *machine.Event, report func(error)) error {
	for pause := firstPublishPause; ; pause = min(2*pause, lastPublishPause) {
		attempt, cancel := context.WithTimeout(ctx, publishTime)
		_, err := sink.Publish(attempt, &events.EventRequest{Data: e.GetData(), Id: e.GetId(), ActorId: e.GetActorId()})

		cancel()

		if ctx.Err() != nil {
			return ctx.Err()
		}

		report(err)

		if err == nil {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
