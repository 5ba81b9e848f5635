// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/acpi"
)

func TestPowerButton(t *testing.T) {
	pressed := acpi.Event{Class: acpi.PowerButton, Bus: "PNP0C0C:00", Type: acpi.PowerPressed}

	for _, tt := range []struct {
		name   string
		events []acpi.Event
		want   bool
	}{
		{"pressed", []acpi.Event{pressed}, true},
		{"pressed twice", []acpi.Event{pressed, pressed}, true},
		{"another button", []acpi.Event{{Class: "button/sleep", Type: acpi.PowerPressed}}, false},
		{"another event", []acpi.Event{{Class: acpi.PowerButton, Type: 2}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				st, tries := memory.New(), 0

				// The first try fails, and the second panics.
				listen := func(ctx context.Context, handle func(acpi.Event)) error {
					switch tries++; tries {
					case 1:
						return errors.New("no buffer space")
					case 2:
						panic("a message")
					}

					for _, e := range tt.events {
						handle(e)
					}

					<-ctx.Done()

					return nil
				}

				go obeyButton(ctx, st, slog.New(slog.DiscardHandler), listen)

				time.Sleep(time.Minute)
				synctest.Wait()

				request, err := typed.Find[runtime.PowerRequestSpec](ctx, st, "", runtime.PowerRequestID)
				if err != nil || (request != nil) != tt.want {
					t.Fatalf("got %v, %v, want a request: %t", request, err, tt.want)
				}

				if want := (runtime.PowerRequestSpec{Action: runtime.PowerShutdown, Reason: "power button"}); tt.want && *request.TypedSpec() != want {
					t.Errorf("got %+v, want %+v", *request.TypedSpec(), want)
				}

				cancel()
			})
		})
	}
}

// TestNoPowerButton: without ACPI there is no retry.
func TestNoPowerButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		obeyButton(t.Context(), memory.New(), slog.New(slog.DiscardHandler), func(context.Context, func(acpi.Event)) error { return acpi.ErrNoACPI })
	})
}
