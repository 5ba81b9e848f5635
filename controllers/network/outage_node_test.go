// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/k8s"
	runtimectl "github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/files"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// TestDHCPSilentForADay is a worker whose server falls silent for a day, from its cards up to its Node and its readiness. The clock is
// virtual; kernel, server, supervisor and API server are in memory.
func TestDHCPSilentForADay(t *testing.T) {
	w := pair()
	supervisor := &controllertest.Supervisor{}

	controllers := slices.Concat(secrets.Controllers(), k8s.Controllers(k8s.Deps{Supervisor: supervisor, Root: t.TempDir()}))
	// One listens on a real socket, and one asks a control plane for a certificate over one. Virtual time does not pass while they wait.
	controllers = slices.DeleteFunc(controllers, func(c controller.Controller) bool {
		return slices.Contains([]string{"k8s.KubePrismController", "secrets.APIController"}, c.Name())
	})

	inWorld(t, w, func(m *machine) {
		joined(t, m, w)

		name := await[k8sres.NodenameSpec](m, "", k8sres.NodenameID, nil).Nodename
		before := kept(m)
		_, runs, _ := supervisor.Service("kubelet")
		calls := len(w.kernel.Calls())

		unready := countUnready(m)

		w.silence()
		time.Sleep(24 * time.Hour)
		synctest.Wait()

		spec := await[k8sres.NodenameSpec](m, "", k8sres.NodenameID, nil)
		if spec.Nodename != name || name != "rack-4" || spec.Kept != "" {
			t.Errorf("the Node: got %+v, want %s, which is rack-4", spec, name)
		}

		diff := cmp.Diff(before, kept(m))
		if diff != "" {
			t.Errorf("what the lease gave (-want +got):\n%s", diff)
		}

		_, now, _ := supervisor.Service("kubelet")
		if now != runs || runs == 0 {
			t.Errorf("the kubelet was started %d times, want %d as before", now, runs)
		}

		changes := w.kernel.Calls()[calls:]
		if len(changes) > 0 {
			t.Errorf("got changes of the kernel %v, want none", changes)
		}

		if n := unready(); n > 0 {
			t.Errorf("the machine was not ready %d times", n)
		}

		degraded := 0

		for _, id := range []string{"operator/dhcp4/eth0", "operator/dhcp4/eth1"} {
			await(m, "", id, func(s network.SpecConditionSpec) bool {
				return s.State == network.SpecDegraded && strings.HasPrefix(s.Cause, "kept, though expired at ")
			})

			degraded++
		}

		t.Logf("DHCP silent for 24 h: Node %s Ready, %d times not; addresses, name servers, hostname and what the kubelet gets are kept: %t; "+
			"writes to the kernel: %d; starts of the kubelet: %d; conditions that are degraded: %d of 2", name, unready(), diff == "", len(changes), now-runs, degraded)
	}, append(controllers, runtimectl.MachineStatusController(func(proto.Message) {}))...)
}

// joined returns a worker with all settings from DHCP, whose Node is Ready.
func joined(t *testing.T, m *machine, w *world) {
	t.Helper()

	w.grant("eth0", "rack-4")
	m.boot("")
	m.configure(string(configtest.Worker(t)))

	put(m, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeWorker})
	put(m, timeres.StatusID, timeres.StatusSpec{Synced: true})

	for _, id := range []string{files.Hosts, files.ResolvConf, files.PodResolvConf} {
		put(m, id, files.EtcFileStatusSpec{})
	}

	put(m, runtime.EnvironmentID, runtime.EnvironmentSpec{})

	for _, id := range []string{"kubelet-EPHEMERAL", "nodename-EPHEMERAL"} {
		put(m, id, block.VolumeMountStatusSpec{VolumeID: block.VolumeEphemeral, Target: "/var"})
	}

	for _, id := range []string{"apid", "cri", "kubelet"} {
		put(m, id, serviceres.ServiceSpec{Running: true, Healthy: true})
	}

	put(m, "rack-4", k8sres.NodeStatusSpec{Nodename: "rack-4", NodeReady: true})
	await(m, "", runtime.MachineStatusID, func(s runtime.MachineStatusSpec) bool { return s.Status.Ready })
	time.Sleep(time.Minute)
	synctest.Wait()
}

func put[S resource.Spec](m *machine, id string, spec S) {
	m.t.Helper()

	if err := typed.Set(m.t.Context(), m.state, "", id, spec); err != nil {
		m.t.Fatal(err)
	}
}

// kept returns all resources of a lease, and what Kubernetes derived from it, with versions, which also show a removal and re-creation.
func kept(m *machine) []string {
	out := []string{hostnameVersion(m)}
	out = append(out, versions(m)...)

	for _, p := range []resource.Pointer{
		resource.PointerOf[k8sres.NodenameSpec]("", k8sres.NodenameID), resource.PointerOf[k8sres.NodeIPSpec]("", k8sres.NodeIPID),
		resource.PointerOf[k8sres.KubeletSpecSpec]("", k8sres.KubeletID), resource.PointerOf[network.ResolverStatusSpec]("", network.ResolverID),
		resource.PointerOf[network.TimeServerStatusSpec]("", network.TimeServerID), resource.PointerOf[network.NodeAddressSpec]("", network.NodeAddressDefaultID),
	} {
		r, err := m.state.Get(m.t.Context(), p)
		if err != nil {
			m.t.Fatal(err)
		}

		out = append(out, r.Metadata().String())
	}

	return out
}

// countUnready counts how often the machine is not ready from now on.
func countUnready(m *machine) func() int {
	events := make(chan state.Event, 1000)

	if err := m.state.Watch(m.t.Context(), resource.PointerOf[runtime.MachineStatusSpec]("", runtime.MachineStatusID), events); err != nil {
		m.t.Fatal(err)
	}

	n := 0

	return func() int {
		for {
			select {
			case e := <-events:
				if s, ok := e.Resource.Spec().(*runtime.MachineStatusSpec); !ok || !s.Status.Ready {
					n++
				}
			default:
				return n
			}
		}
	}
}
