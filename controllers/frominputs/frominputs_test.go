// SPDX-License-Identifier: Apache-2.0

package frominputs_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// TestInputs checks the output after an input was destroyed.
func TestInputs(t *testing.T) {
	for name, test := range map[string]struct {
		input func(in frominputs.Input) frominputs.Input
		want  string // "" when there is no output
	}{
		"an input":             {func(in frominputs.Input) frominputs.Input { return in }, ""},
		"an optional one":      {frominputs.Input.Optional, "cp1 "},
		"one that keeps":       {frominputs.Input.OrKeep, "cp1 /kubelet"},
		"one of a whole kind":  {frominputs.Input.Any, ""},
		"optional, whole kind": {func(in frominputs.Input) frominputs.Input { return in.Any().Optional() }, "cp1 "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					node k8s.NodenameSpec
					spec k8s.KubeletSpecSpec
				)

				e := cositest.Start(t, frominputs.One("Test", k8s.KubeletID, controller.Exclusive, frominputs.List{
					frominputs.Of(k8s.NodenameID, &node),
					test.input(frominputs.Of(k8s.KubeletID, &spec)),
				}, func() (*k8s.KubeletStatusSpec, error) {
					return &k8s.KubeletStatusSpec{Image: node.Nodename + " " + spec.Image}, nil
				}))

				cositest.Set(e, k8s.NodenameID, k8s.NodenameSpec{Nodename: "cp1"})
				cositest.Set(e, k8s.KubeletID, k8s.KubeletSpecSpec{Image: "/kubelet"})
				cositest.Wait(e, k8s.KubeletID, func(s k8s.KubeletStatusSpec) bool { return s.Image == "cp1 /kubelet" })

				if err := typed.Destroy[k8s.KubeletSpecSpec](t.Context(), e.State, "", k8s.KubeletID); err != nil {
					t.Fatal(err)
				}

				synctest.Wait()

				var got k8s.KubeletStatusSpec

				if f := typed.Read(t.Context(), e.State, k8s.KubeletID, &got); f.Err != nil {
					t.Fatal(f.Err)
				}

				if got.Image != test.want {
					t.Errorf("got %q, want %q", got.Image, test.want)
				}
			})
		})
	}
}

// TestAgain checks that a run with controller.Requeue is followed by another run.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, start := 0, time.Now()

		e := cositest.Start(t, frominputs.Controller[k8s.KubeletStatusSpec]("Test", controller.Exclusive, frominputs.List{
			frominputs.Also(controller.In[k8s.NodenameSpec](controller.Weak, "")),
		}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			if runs++; runs > 1 {
				return nil
			}

			return controller.RequeueWith(typed.Set(ctx, rt, "", k8s.KubeletID, k8s.KubeletStatusSpec{}), time.Minute)
		}))

		cositest.Wait[k8s.KubeletStatusSpec](e, k8s.KubeletID, nil)

		time.Sleep(time.Minute)
		synctest.Wait()

		there, err := typed.Find[k8s.KubeletStatusSpec](t.Context(), e.State, "", k8s.KubeletID)
		if err != nil {
			t.Fatal(err)
		}

		if runs != 2 || there != nil {
			t.Errorf("after %s: got %d runs and the output %v, want 2 and none", time.Since(start), runs, there)
		}
	})
}
