// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/resources/runtime"
)

func TestGoDown(t *testing.T) {
	for _, tt := range []struct {
		name  string
		force bool
		want  []string
	}{
		{"in order, past a failure and a hang", false, []string{"stop pods", "stop services", "unmount", "reboot"}},
		{"forced", true, []string{"unmount", "reboot"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					mu  sync.Mutex // a step that is given up on goes on by itself
					did []string
				)

				note := func(what string) {
					mu.Lock()
					defer mu.Unlock()

					did = append(did, what)
				}

				step := func(name string, forced bool, err error, takes time.Duration) PowerStep {
					return PowerStep{Name: name, Timeout: time.Minute, Forced: forced, Run: func(context.Context, runtime.PowerRequestSpec) error {
						note(name)

						time.Sleep(takes)

						return err
					}}
				}

				c := &PowerController{
					Steps: []PowerStep{
						step("stop pods", false, errors.New("no kubelet"), 0),
						step("stop services", false, nil, time.Hour),
						step("unmount", true, nil, time.Second),
					},
					Act: func(a runtime.PowerAction) error {
						note(string(a))

						return nil
					},
				}

				var told []string

				c.Publish = func(event proto.Message, actor string) {
					told = append(told, fmt.Sprintf("%s %s %v", actor, event.ProtoReflect().Descriptor().Name(), event))
				}

				start := time.Now()

				err := c.goDown(t.Context(), runtime.PowerRequestSpec{Action: runtime.PowerReboot, Force: tt.force, ActorID: "me"}, slog.New(slog.NewTextHandler(io.Discard, nil)))
				if err != nil {
					t.Fatal(err)
				}

				if !slices.Equal(did, tt.want) {
					t.Errorf("got %v, want %v", did, tt.want)
				}

				// Start and stop of the whole and of each step, and the restart.
				if got, want := len(told), 2+2*(len(tt.want)-1)+1; got != want || !strings.HasPrefix(told[got-1], "me RestartEvent") {
					t.Errorf("told %d events, want %d: %q", got, want, told)
				}

				if took := time.Since(start); took > 2*time.Minute {
					t.Errorf("a step that hangs held the machine for %s", took)
				}

				time.Sleep(time.Hour) // let the hanging step end
			})
		})
	}
}

func TestSecurityState(t *testing.T) {
	got, err := securityState(fstest.MapFS{
		secureBootVar:   {Data: []byte{6, 0, 0, 0, 1}},
		stubInfoVar:     {Data: []byte("x")},
		sigEnforcedFile: {Data: []byte("Y\n")},
	})
	want := runtime.SecurityStateSpec{SecureBoot: true, BootedWithUKI: true, ModuleSignatureEnforced: true}

	if err != nil || got != want {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}

	if got, err := securityState(fstest.MapFS{sigEnforcedFile: {Data: []byte("N\n")}}); err != nil || got != (runtime.SecurityStateSpec{}) {
		t.Errorf("no firmware variables: got %+v (%v)", got, err)
	}
}
