// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// staticPodServer serves the list of static pods to the kubelet, on a free port of loopback.
type staticPodServer struct{}

func (staticPodServer) Name() string { return "k8s.StaticPodServerController" }

func (staticPodServer) Inputs() []controller.Input {
	return []controller.Input{controller.In[k8s.StaticPodSpec](controller.Weak, "")}
}

func (staticPodServer) Outputs() []controller.Output {
	return []controller.Output{controller.Out[k8s.StaticPodServerStatusSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (staticPodServer) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var list atomic.Pointer[[]byte]

	if err := updatePodList(ctx, rt, &list); err != nil {
		return err
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("static pod server: %w", err)
	}

	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(*list.Load()) //nolint:errcheck // the kubelet went away: it asks again
		}),
	}

	defer server.Close() //nolint:errcheck

	failed := guard.Go(func() error { return server.Serve(listener) })

	url := "http://" + listener.Addr().String()
	if err := typed.Set(ctx, rt, "", k8s.StaticPodServerID, k8s.StaticPodServerStatusSpec{URL: url}); err != nil {
		return err
	}

	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return fmt.Errorf("static pod server: %w", err)
		case <-rt.Events():
			if err := updatePodList(ctx, rt, &list); err != nil {
				return err
			}

			rt.ResetRestartBackoff()
		}
	}
}

func updatePodList(ctx context.Context, rt controller.Runtime, list *atomic.Pointer[[]byte]) error {
	pods, err := typed.List[k8s.StaticPodSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	items := make([]any, 0, len(pods))

	for _, pod := range pods {
		if pod.Metadata().Phase() == resource.PhaseRunning {
			items = append(items, pod.TypedSpec().Pod)
		}
	}

	text, err := json.Marshal(render.Object{"apiVersion": "v1", "kind": "PodList", "items": items})
	if err != nil {
		return fmt.Errorf("static pod server: %w", err)
	}

	list.Store(&text)

	return nil
}
